import type { ServiceRoute } from '../../api/service-route.ts';
import { isStatus } from '../../kubernetes/failure.ts';
import { objectPath, RESOURCES } from '../../kubernetes/resources.ts';
import { isBad, remedyOf } from '../conditions.ts';
import { EXIT } from '../exit-codes.ts';
import { columns, type Output, paint, structured } from '../output.ts';
import { fail, type PluginContext } from './context.ts';
import { type ClusterEvent, eventTable, listEvents } from './events.ts';

type Rule = ServiceRoute['spec']['rules'][number];

/** `kubectl signpost describe route NAME`: what is wanted, what is true, and what to do about the difference. */
export async function describeRoute(context: PluginContext, namespace: string, name: string): Promise<number> {
  const { client, format, output } = context;
  const path = objectPath(RESOURCES.ServiceRoute[0], { namespace, name });
  const route = await client.json<ServiceRoute>({ path });
  if (isStatus(route.problem, 404)) {
    output.err(`there is no ServiceRoute ${name} in namespace ${namespace}; name another one with -n\n`);
    return EXIT.failed;
  }
  if (route.problem !== undefined) return fail(context, route.problem);
  const events = await listEvents({ client, namespace }, { kind: 'ServiceRoute', name });
  if (events.problem !== undefined) return fail(context, events.problem);
  const shown =
    format === 'json' || format === 'yaml'
      ? structured(format, { route: route.ok, events: events.ok })
      : renderRoute(route.ok, events.ok, output);
  output.out(`${shown}\n`);
  return EXIT.ok;
}

export function renderRoute(route: ServiceRoute, events: readonly ClusterEvent[], output: Output): string {
  const sections = [summary(route), rules(route), announcements(route), conditions(route, output)];
  const told = events.length === 0 ? '' : `Events\n${indent(eventTable(events, output))}`;
  return [...sections, told].filter((section) => section !== '').join('\n\n');
}

function summary({ metadata, spec, status }: ServiceRoute): string {
  const { type, timeoutSeconds } = spec.sessionAffinity;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Controller', spec.controllerName],
    ['Address', status?.summary?.addresses || '<none>'],
    ['Wanted', spec.addresses?.join(',')],
    ['Pool', status?.summary?.pool || spec.addressPool],
    ['Endpoints', status?.summary?.endpoints],
    ['Forwarding', spec.forwarding],
    ['Policy', spec.trafficPolicy],
    ['Affinity', timeoutSeconds === undefined ? type : `${type} for ${timeoutSeconds} s`],
    ['Clients', spec.sourceRanges?.join(',')],
  ];
  const given = facts.flatMap(([fact, value]) => (value === undefined ? [] : [[`${fact}:`, value]]));
  return columnsWithoutHead(given);
}

function rules({ spec, metadata }: ServiceRoute): string {
  const rows = spec.rules.map((rule) => [rule.name, portOf(rule), backendsOf(rule, metadata.namespace)]);
  return `Rules\n${indent(columns(['NAME', 'PORT', 'BACKENDS'], rows))}`;
}

function portOf({ port, protocol }: Rule): string {
  return port === undefined || protocol === undefined ? 'all of the Service' : `${port}/${protocol}`;
}

function backendsOf({ backendRefs }: Rule, own: string | undefined): string {
  return backendRefs
    .map(({ namespace = own, name, port, weight }) => {
      const where = namespace === own ? name : `${namespace ?? ''}/${name}`;
      const share = backendRefs.length > 1 ? ` weight ${weight}` : '';
      return `${where}${port === undefined ? '' : `:${port}`}${share}`;
    })
    .join(', ');
}

function announcements({ status }: ServiceRoute): string {
  const known = status?.announcements ?? [];
  if (known.length === 0) return 'Announced by nobody';
  const more = (status?.announcementCount ?? known.length) - known.length;
  const rows = known.map(({ address, mode, node, interface: name, peers, since }) => [
    address,
    mode,
    node,
    name ?? peers?.join(',') ?? '-',
    since,
  ]);
  const table = columns(['ADDRESS', 'MODE', 'NODE', 'VIA', 'SINCE'], rows);
  return `Announced by\n${indent(more > 0 ? `${table}\nand ${more} more` : table)}`;
}

function conditions({ status }: ServiceRoute, output: Output): string {
  const known = status?.conditions ?? [];
  if (known.length === 0) return 'Conditions: no speaker has judged this route yet';
  const rows = known.map((c) => [
    c.type,
    isBad(c) ? paint(output, 'red', c.status) : c.status,
    c.reason,
    c.lastTransitionTime,
    c.message,
  ]);
  const remedies = known.filter(isBad).flatMap((c) => {
    const remedy = remedyOf(c);
    return remedy === undefined ? [] : [`${paint(output, 'yellow', '!')} ${c.type}: ${remedy}`];
  });
  return `Conditions\n${indent([columns(['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows), ...remedies].join('\n'))}`;
}

function columnsWithoutHead([first = [], ...rows]: readonly (readonly string[])[]): string {
  return columns(first, rows);
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
