import { type Ip, type IpV4, isLinkLocal, isV4, parseIp } from '../../../net/ip.ts';
import { prefixContains } from '../../../net/prefix.ts';
import { ok, problem, type Result } from '../../../net/result.ts';
import type { BGPPeer } from '../../api/bgp-peer.ts';
import { milliseconds } from '../../api/duration.ts';
import type { Links } from '../../world/links.ts';
import type { SessionPlan, SessionRemote } from './types.ts';

type Spec = BGPPeer['spec'];

/** What sessions take from their node. */
export interface Surroundings {
  readonly links: Links;
  /** Of the Node object. */
  readonly nodeAddresses: readonly Ip[];
}

const seconds = (text: string) => milliseconds(text) / 1_000;

/** The session that a BGPPeer asks of this node, or what is wrong with it in words. */
export function planSession({ metadata, spec }: BGPPeer, around: Surroundings): Result<SessionPlan> {
  const remote = remoteOf(spec, around.links);
  if (remote.problem !== undefined) return remote;
  const routerId = routerIdOf(spec, around);
  if (routerId.problem !== undefined) return routerId;
  const source = spec.sourceAddress === undefined ? ok(undefined) : parseIp(spec.sourceAddress, 'spec.sourceAddress');
  if (source.problem !== undefined) return source;
  return ok({
    peer: metadata.name,
    localAsn: spec.localASN,
    remoteAsn: spec.peerASN ?? spec.dynamicASN ?? 'external',
    remote: remote.ok,
    port: spec.port,
    sourceAddress: source.ok,
    sourceInterface: spec.sourceInterface,
    routerId: routerId.ok,
    holdTime: Math.round(seconds(spec.holdTime)),
    keepaliveTime: seconds(spec.keepaliveTime),
    connectRetryTime: seconds(spec.connectRetryTime),
    password: spec.passwordSecretRef,
    ttlSecurity: spec.ttlSecurity?.hops,
    multiHop: spec.ebgpMultiHop?.ttl,
    passive: spec.passive,
    families: spec.families.map((family) => (family === 'ipv4' ? 'IPv4' : 'IPv6')),
    gracefulRestart: spec.gracefulRestart.enabled
      ? { restartTime: seconds(spec.gracefulRestart.restartTime) }
      : undefined,
    bfd: bfdOf(spec),
    extendedNextHop: spec.extendedNextHop || remote.ok.kind === 'interface',
    role: spec.role && ROLES[spec.role],
  });
}

const ROLES = {
  provider: 'provider',
  customer: 'customer',
  peer: 'peer',
  'rs-server': 'route-server',
  'rs-client': 'route-server-client',
} as const;

function remoteOf(spec: Spec, links: Links): Result<SessionRemote> {
  if (spec.interface !== undefined) return ok({ kind: 'interface', interface: spec.interface });
  const address = parseIp(spec.address ?? '', 'spec.address');
  if (address.problem !== undefined) return address;
  if (isLinkLocal(address.ok) && spec.sourceInterface === undefined) {
    const fix = 'name the interface in spec.sourceInterface, or write spec.interface instead of spec.address';
    return problem('spec.address', spec.address, 'is a link-local address without an interface', fix);
  }
  return ok({
    kind: 'address',
    address: address.ok,
    connected: isLinkLocal(address.ok) || isConnected(address.ok, links),
    interface: isLinkLocal(address.ok) ? spec.sourceInterface : undefined,
  });
}

function isConnected(ip: Ip, links: Links): boolean {
  return [...links.byIndex.values()].some(({ addresses }) =>
    addresses.some(({ prefix }) => prefixContains(prefix, ip)),
  );
}

/** RFC 4271 section 4.2: one identifier for all sessions, so it does not depend on the peer. */
function routerIdOf({ routerID }: Spec, { links, nodeAddresses }: Surroundings): Result<IpV4> {
  const wanted = routerID === undefined ? undefined : parseIp(routerID, 'spec.routerID');
  if (wanted?.problem !== undefined) return wanted;
  const own = [...links.byIndex.values()].filter(({ loopback }) => !loopback).flatMap(({ addresses }) => addresses);
  const candidates = [...(wanted === undefined ? [] : [wanted.ok]), ...nodeAddresses, ...own.map(({ ip }) => ip)];
  const found = candidates.find(isV4);
  return found === undefined || found === '0.0.0.0'
    ? problem('spec.routerID', routerID, 'is missing, and this node has no IPv4 address', 'write e.g. 192.0.2.11')
    : ok(found);
}

function bfdOf({ bfd }: Spec): SessionPlan['bfd'] {
  return (
    bfd && {
      desiredMinTx: milliseconds(bfd.transmit) * 1_000,
      requiredMinRx: milliseconds(bfd.receive) * 1_000,
      detectMultiplier: bfd.multiplier,
    }
  );
}
