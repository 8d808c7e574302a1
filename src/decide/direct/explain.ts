import { familyOf, type Ip, parseIp } from '../../../net/ip.ts';
import type { NodeName, Vip } from '../../../net/names.ts';
import { ok, problem, type Result } from '../../../net/result.ts';
import type { Plan } from '../plan.ts';
import { type ForwardingEntry, forwardingKey, type Port, type Protocol } from '../types.ts';
import { slotOf } from './client-hash.ts';
import { SLOTS, slotOwners } from './slots.ts';

/** A flow from a client to a VIP. */
export interface Question {
  readonly client: Ip;
  readonly clientPort: Port;
  readonly vip: Vip;
  readonly port: Port;
  readonly protocol: Protocol;
}

/** Who gets a new connection. */
export interface Explanation {
  readonly mode: 'Endpoints' | 'Direct' | 'ClusterIP';
  /** Direct: the client's slot and the node that has it. */
  readonly slot?: number;
  readonly slots?: number;
  readonly node?: NodeName;
  /** Of several, one by weight, or by the client where the route has affinity. */
  readonly endpoints: readonly string[];
}

export function parseQuestion(body: Readonly<Record<string, unknown>>): Result<Question> {
  const client = parseSocket(body['client'], 'client');
  if (client.problem !== undefined) return client;
  const vip = parseSocket(body['vip'], 'vip');
  if (vip.problem !== undefined) return vip;
  if (familyOf(client.ok.ip) !== familyOf(vip.ok.ip))
    return problem('client', client.ok.ip, 'is of another family than the VIP', 'name an address of the same family');
  const protocol = body['protocol'] ?? 'TCP';
  if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP')
    return problem('protocol', undefined, 'is not a protocol', 'write TCP, UDP or SCTP');
  const flow = { client: client.ok.ip, clientPort: client.ok.port, vip: vip.ok.ip as Vip, port: vip.ok.port };
  return ok({ ...flow, protocol });
}

function parseSocket(value: unknown, field: string): Result<{ readonly ip: Ip; readonly port: Port }> {
  const text = typeof value === 'string' ? value : '';
  const [, bracketed, plain, digits] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port < 1 || port > 65_535)
    return problem(field, text, 'is not an address and a port', 'write 192.0.2.7:40000 or [2001:db8::7]:40000');
  const ip = parseIp(bracketed ?? plain ?? '', field);
  return ip.problem === undefined ? ok({ ip: ip.ok, port: port as Port }) : ip;
}

/** What this node's plan does with a new connection; undefined where the VIP has no such port. */
export function explain(question: Question, plan: Plan): Explanation | undefined {
  const entry = plan.forwarding.entries.get(forwardingKey(question));
  if (entry === undefined) return undefined;
  const taking = entry.endpoints.filter(({ weight }) => weight > 0);
  if (entry.direct === undefined) return { mode: entry.relayed ? 'ClusterIP' : 'Endpoints', endpoints: named(taking) };
  const slot = slotOf(question.client, entry.affinity.type === 'None' ? question.clientPort : undefined);
  const node = slotOwners(entry.direct.shares)[slot] as NodeName;
  const nodes = nodesOfEndpoints(plan);
  const there = taking.filter(({ address }) => nodes.get(address) === node);
  return { mode: 'Direct', slot, slots: SLOTS, node, endpoints: named(there) };
}

function nodesOfEndpoints({ world }: Plan): Map<Ip, NodeName | undefined> {
  const nodes = new Map<Ip, NodeName | undefined>();
  for (const slices of world.objects.slices.values()) {
    for (const { addresses, node } of slices.flatMap(({ endpoints }) => endpoints)) {
      for (const address of addresses) nodes.set(address, node);
    }
  }
  return nodes;
}

function named(endpoints: ForwardingEntry['endpoints']): string[] {
  return endpoints.map(({ address, port }) => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`));
}
