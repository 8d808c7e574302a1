import { type Ip, type IpFamily, type IpV4, isV6 } from '../../net/ip.ts';
import { type Prefix, prefixFamily } from '../../net/prefix.ts';
import { Afi, SAFI_UNICAST } from '../codec/constants.ts';
import { afiSafiOf } from '../codec/families.ts';
import type { OpenExpectation } from '../codec/negotiate.ts';
import type { Asn, Capability, Open, Role } from '../codec/types.ts';
import type { FsmSettings } from '../fsm/types.ts';

/** One peer as configured. Times are seconds. */
export interface PeerSettings {
  readonly localAsn: Asn;
  /** A number, our own, or any but our own. */
  readonly remoteAsn: Asn | 'internal' | 'external';
  readonly remote: PeerAddress | PeerRange;
  /** Of the peer's listener. */
  readonly port: number;
  readonly sourceAddress?: Ip;
  readonly sourceInterface?: string;
  /** BGP Identifier, RFC 6286. */
  readonly identifier: IpV4;
  /** Offered: 0 (no keepalives) or 3 to 65535. */
  readonly holdTime: number;
  /** At most a third of the negotiated hold time is used. */
  readonly keepaliveTime: number;
  readonly connectRetryTime: number;
  /** RFC 4271 section 8.1.1: how long to wait for the peer's OPEN before sending ours. */
  readonly delayOpenTime?: number;
  /** RFC 9687; default: 480, or twice the hold time. */
  readonly sendHoldTime?: number;
  /** TCP MD5 signatures, RFC 2385: 1 to 80 octets. */
  readonly password?: string;
  /** GTSM, RFC 5082: how many hops away the peer may be. */
  readonly ttlSecurity?: number;
  /** TTL towards an external peer that is not on our link. */
  readonly multiHop?: number;
  /** Wait for the peer's connection. */
  readonly passive: boolean;
  readonly families: readonly IpFamily[];
  readonly gracefulRestart?: GracefulRestartSettings;
  /** Give IPv4 routes an IPv6 next hop over IPv6, where the peer takes it (RFC 8950). */
  readonly extendedNextHop: boolean;
  /** What we are to an external peer, RFC 9234. */
  readonly role?: Role;
  /** Refuse a peer that announces no role. */
  readonly strictRole?: boolean;
  /** Next hops of a family instead of our own end of the session. */
  readonly nextHops?: Readonly<Partial<Record<IpFamily, Ip>>>;
  /** The session ends when a peer announces more routes than this, less those it withdrew. */
  readonly maximumPrefixes?: number;
}

export interface PeerAddress {
  readonly address: Ip;
  /** Of a link-local address. */
  readonly interface?: string;
}

/** Every host of a network that connects becomes a peer of its own. */
export interface PeerRange {
  readonly range: Prefix;
  /** How many at the same time. */
  readonly limit: number;
}

/** RFC 4724, as the speaker that restarts: the peer keeps our routes meanwhile. */
export interface GracefulRestartSettings {
  /** Seconds that the peer waits for us, at most 4095. */
  readonly restartTime: number;
  /** The data path goes on while we are away (F). */
  readonly forwarding: boolean;
}

const SECOND = 1e9;

/** RFC 9687 section 3.2. */
const SEND_HOLD_TIME = 480;

export function fsmSettings(settings: PeerSettings): FsmSettings {
  const { holdTime, keepaliveTime, connectRetryTime, delayOpenTime = 0, sendHoldTime, passive, remote } = settings;
  return {
    connectRetryTime: connectRetryTime * SECOND,
    holdTime: holdTime * SECOND,
    keepaliveTime: keepaliveTime * SECOND,
    delayOpenTime: delayOpenTime * SECOND,
    idleHoldTime: { initial: SECOND, maximum: 60 * SECOND },
    sendHoldTime: (sendHoldTime ?? Math.max(SEND_HOLD_TIME, 2 * holdTime)) * SECOND,
    passive: passive || 'range' in remote,
  };
}

/** Fields that a session takes up while it runs, or at its next OPEN. */
const LIVE: readonly (keyof PeerSettings)[] = [
  'holdTime',
  'keepaliveTime',
  'connectRetryTime',
  'delayOpenTime',
  'sendHoldTime',
  'passive',
  'maximumPrefixes',
];

/** Whether a session under `before` can go on under `after`. */
export function goesOn(before: PeerSettings, after: PeerSettings): boolean {
  const rest = (settings: PeerSettings): unknown =>
    Object.fromEntries(
      Object.entries(settings)
        .filter(([key]) => !(LIVE as readonly string[]).includes(key))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return JSON.stringify(rest(before)) === JSON.stringify(rest(after));
}

export interface OpenOptions {
  /** Our process has come back from a restart and this is the first session with the peer since. */
  readonly restarting: boolean;
  /** For a peer that does not know optional parameters (RFC 5492 section 3). */
  readonly withoutCapabilities: boolean;
}

export function localOpen(settings: PeerSettings, options: OpenOptions): Open {
  const { localAsn: asn, holdTime, identifier } = settings;
  const capabilities = options.withoutCapabilities ? [] : capabilitiesOf(settings, options);
  return { type: 'OPEN', asn, holdTime, identifier, capabilities };
}

function capabilitiesOf(settings: PeerSettings, { restarting }: OpenOptions): Capability[] {
  const { families, gracefulRestart, extendedNextHop, role, localAsn, remoteAsn, remote } = settings;
  const external = remoteAsn !== 'internal' && remoteAsn !== localAsn;
  return [
    ...families.map((family): Capability => ({ kind: 'multiprotocol', ...afiSafiOf(family) })),
    { kind: 'route-refresh' },
    { kind: 'enhanced-route-refresh' },
    { kind: 'extended-message' },
    { kind: 'four-octet-as', asn: localAsn },
    // We can read what some routers send over IPv6 in any case, and use no next hop.
    ...((extendedNextHop || isIpV6(remote)) && families.includes('IPv4') ? [IPV4_BY_IPV6] : []),
    ...(role !== undefined && external ? [{ kind: 'role', role } as const] : []),
    ...(gracefulRestart === undefined ? [] : [gracefulRestartOf(gracefulRestart, families, restarting)]),
  ];
}

function isIpV6(remote: PeerSettings['remote']): boolean {
  return 'range' in remote ? prefixFamily(remote.range) === 'IPv6' : isV6(remote.address);
}

const IPV4_BY_IPV6: Capability = {
  kind: 'extended-next-hop',
  families: [{ afi: Afi.IPv4, safi: SAFI_UNICAST, nextHopAfi: Afi.IPv6 }],
};

function gracefulRestartOf(
  { restartTime, forwarding }: GracefulRestartSettings,
  families: readonly IpFamily[],
  restarting: boolean,
): Capability {
  return {
    kind: 'graceful-restart',
    restarting,
    notification: true,
    restartTime,
    families: families.map((family) => ({ ...afiSafiOf(family), forwarding })),
  };
}

export function openExpectation(settings: PeerSettings, local: Open): OpenExpectation {
  const { remoteAsn, role, strictRole } = settings;
  return {
    local,
    peerAsn: remoteAsn,
    ...(role === undefined ? {} : { role }),
    ...(strictRole === undefined ? {} : { strictRole }),
  };
}

/** The TTL that packets to the peer leave with; undefined: the system's. */
export function ttlOf({ ttlSecurity, multiHop, remoteAsn, localAsn }: PeerSettings): number | undefined {
  if (ttlSecurity !== undefined) return 255;
  if (remoteAsn === 'internal' || remoteAsn === localAsn) return undefined;
  // An external peer is on our link unless it is said otherwise: beyond it nothing of the session must be heard.
  return multiHop ?? 1;
}

/** RFC 5082 section 3: a packet from the peer has lost at most one for each router between. */
export function minimumTtlOf({ ttlSecurity }: PeerSettings): number | undefined {
  return ttlSecurity === undefined ? undefined : 256 - ttlSecurity;
}
