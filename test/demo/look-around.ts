import type { Namespace } from '../harness/namespace.ts';
import type { Speaker } from '../harness/speaker.ts';
import type { Report } from './report.ts';

/** `--keep`: leaves all running and says what to look at, until Ctrl-C. */
export async function lookAround(
  report: Report,
  speakers: readonly Speaker[],
  client: Namespace,
  vip: string,
): Promise<void> {
  report.heading('Left running; look around, and end it with Ctrl-C');
  for (const speaker of speakers)
    report.note(`node dist/signpost.mjs status --watch --socket ${speaker.socket}   # ${speaker.name}`);
  report.note(`ip netns exec ${client.path} curl http://${vip}/`);
  report.note(`ip netns exec ${speakers[0]?.node.namespace.path ?? ''} nft list table inet signpost`);
  await new Promise((resolve) => process.once('SIGINT', resolve));
}
