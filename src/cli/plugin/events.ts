import type { Result } from '../../../net/result.ts';
import { CONTROLLER_NAME } from '../../api/service-route.ts';
import type { ApiFailure } from '../../kubernetes/failure.ts';
import { listObjects } from '../../kubernetes/list.ts';
import { EXIT } from '../exit-codes.ts';
import { columns, type Output, paint, structured } from '../output.ts';
import { fail, type PluginContext } from './context.ts';

const EVENTS = { root: '/apis/events.k8s.io/v1', plural: 'events', namespaced: true };

/** An `events.k8s.io/v1` Event, as far as it is shown. */
export interface ClusterEvent {
  readonly eventTime: string;
  readonly type: string;
  readonly reason: string;
  readonly note?: string;
  readonly reportingInstance: string;
  readonly regarding: { readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** Events of Signpost, the oldest first. @param about of one object alone */
export async function listEvents(
  { client, namespace }: Pick<PluginContext, 'client' | 'namespace'>,
  about?: { readonly kind: string; readonly name: string },
): Promise<Result<readonly ClusterEvent[], ApiFailure>> {
  const fields = { reportingController: CONTROLLER_NAME, 'regarding.kind': about?.kind, 'regarding.name': about?.name };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const fieldSelector = given.map(([field, value]) => `${field}=${value}`).join();
  const events = await listObjects<ClusterEvent>(client, { resource: EVENTS, namespace, fieldSelector });
  if (events.problem !== undefined) return events;
  return { ok: events.ok.toSorted((a, b) => Date.parse(a.eventTime) - Date.parse(b.eventTime)) };
}

/** `kubectl signpost events`: what changed for better or worse, as the speakers told. */
export async function clusterEvents(context: PluginContext): Promise<number> {
  const { format, output } = context;
  const events = await listEvents(context);
  if (events.problem !== undefined) return fail(context, events.problem);
  if (events.ok.length === 0) output.err('no Events; the API server forgets them after an hour\n');
  else if (format === 'json' || format === 'yaml') output.out(`${structured(format, events.ok)}\n`);
  else output.out(`${eventTable(events.ok, output)}\n`);
  return EXIT.ok;
}

export function eventTable(events: readonly ClusterEvent[], output: Output): string {
  const rows = events.map(({ eventTime, type, reason, note = '', reportingInstance, regarding }) => [
    eventTime,
    type === 'Warning' ? paint(output, 'yellow', type) : type,
    reason,
    `${regarding.kind} ${regarding.namespace === undefined ? '' : `${regarding.namespace}/`}${regarding.name}`,
    reportingInstance,
    note,
  ]);
  return columns(['TIME', 'TYPE', 'REASON', 'OBJECT', 'TOLD-BY', 'NOTE'], rows);
}
