import { setTimeout as delay } from 'node:timers/promises';
import type { Result } from '../../../net/result.ts';
import type { Speaker } from '../../api/speaker.ts';
import { type ApiFailure, isStatus } from '../../kubernetes/failure.ts';
import { objectPath, RESOURCES } from '../../kubernetes/resources.ts';
import { EXIT } from '../exit-codes.ts';
import { fail, listSpeakers, type PluginContext } from './context.ts';

/** A speaker tells of what it holds within 50 ms, which this waits for before the first look. */
const LOOK_EVERY_MS = 250;

/** `kubectl signpost drain NODE`: the node hands its VIPs over and takes none. Returns when it holds none. */
export async function drainNode(context: PluginContext, node: string, timeoutSeconds: number): Promise<number> {
  const asked = await setDrain(context, node, true);
  if (asked.problem !== undefined) return noSpeaker(context, node, asked.problem);
  const before = vipsOf(asked.ok).length;
  const deadline = performance.now() + timeoutSeconds * 1000;
  let held: readonly string[];
  do {
    await delay(LOOK_EVERY_MS);
    const speaker = await context.client.json<Speaker>({ path: objectPath(RESOURCES.Speaker[0], { name: node }) });
    if (speaker.problem !== undefined) return fail(context, speaker.problem);
    held = vipsOf(speaker.ok);
  } while (held.length > 0 && performance.now() < deadline);
  const { output } = context;
  if (held.length === 0) {
    const handed = before === 0 ? 'held no VIP' : `handed over ${before === 1 ? 'its VIP' : `its ${before} VIPs`}`;
    output.out(`${node} ${handed} and takes none until 'kubectl signpost undrain ${node}'\n`);
    return EXIT.ok;
  }
  const why = 'no other node may take them, or its speaker does not run';
  output.err(
    `${node} still announces ${held.join(', ')} after ${timeoutSeconds} s: ${why}; see 'kubectl signpost status'.\n` +
      `It stays drained and hands over as soon as it can; 'kubectl signpost undrain ${node}' takes that back.\n`,
  );
  return EXIT.failed;
}

/** `kubectl signpost undrain NODE`: the node may take VIPs again; it takes none back by itself. */
export async function undrainNode(context: PluginContext, node: string): Promise<number> {
  const asked = await setDrain(context, node, false);
  if (asked.problem !== undefined) return noSpeaker(context, node, asked.problem);
  context.output.out(`${node} may take VIPs again\n`);
  return EXIT.ok;
}

function setDrain({ client }: PluginContext, name: string, drain: boolean): Promise<Result<Speaker, ApiFailure>> {
  return client.json<Speaker>({
    method: 'PATCH',
    path: objectPath(RESOURCES.Speaker[0], { name }),
    contentType: 'application/merge-patch+json',
    body: { spec: { drain } },
  });
}

async function noSpeaker(context: PluginContext, node: string, failure: ApiFailure): Promise<number> {
  if (!isStatus(failure, 404)) return fail(context, failure);
  const speakers = await listSpeakers(context);
  if (speakers.problem !== undefined) return fail(context, speakers.problem);
  const names = speakers.ok.map(({ metadata }) => metadata.name).join(', ');
  context.output.err(`node ${node} has no speaker; those that have one: ${names || 'none'}\n`);
  return EXIT.failed;
}

function vipsOf({ status }: Speaker): readonly string[] {
  return (status?.vips ?? []).map(({ address }) => address);
}
