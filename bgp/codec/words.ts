import {
  CeaseSubcode,
  ErrorCode,
  FsmSubcode,
  HeaderSubcode,
  MessageType,
  OpenSubcode,
  RouteRefreshSubcode,
  UpdateSubcode,
} from './constants.ts';
import type { Reaction } from './errors.ts';
import { familyOfAfiSafi } from './families.ts';
import { hardResetReason, shutdownCommunication } from './messages/notification.ts';
import type { AfiSafi, AsPathSegment, Capability, Notification } from './types.ts';

const SUBCODES: Readonly<Record<number, Readonly<Record<string, number>>>> = {
  [ErrorCode.MESSAGE_HEADER]: HeaderSubcode,
  [ErrorCode.OPEN]: OpenSubcode,
  [ErrorCode.UPDATE]: UpdateSubcode,
  [ErrorCode.FINITE_STATE_MACHINE]: FsmSubcode,
  [ErrorCode.CEASE]: CeaseSubcode,
  [ErrorCode.ROUTE_REFRESH]: RouteRefreshSubcode,
};

/** Octets. */
const DATA_SHOWN = 32;

/** E.g. `Cease/Administrative Shutdown (6/2): "back at noon"`. */
export function describeNotification(notification: Notification): string {
  const reason = hardResetReason(notification);
  return reason === undefined
    ? describeAlone(notification)
    : `${nameAlone(notification)}, reason ${describeAlone(reason)}`;
}

function describeAlone(notification: Notification): string {
  const { data } = notification;
  const communication = shutdownCommunication(notification);
  if (communication !== undefined) return `${nameAlone(notification)}: "${communication}"`;
  if (data.length === 0) return nameAlone(notification);
  return `${nameAlone(notification)}, data ${hex(data.subarray(0, DATA_SHOWN))}${data.length > DATA_SHOWN ? '...' : ''}`;
}

function nameAlone({ code, subcode }: Notification): string {
  const detail = nameOf(SUBCODES[code] ?? {}, subcode);
  return `${nameOf(ErrorCode, code) ?? 'Unknown'}${detail === undefined ? '' : `/${detail}`} (${code}/${subcode})`;
}

export function describeReaction(reaction: Reaction): string {
  switch (reaction.kind) {
    case 'ignore':
      return 'nothing changes';
    case 'attribute-discard':
      return 'that part is discarded';
    case 'treat-as-withdraw':
      return 'all its routes are withdrawn';
    case 'session-reset':
      return `NOTIFICATION ${describeNotification(reaction.notification)}, then close`;
  }
}

export function messageTypeName(type: number): string | undefined {
  return Object.entries(MessageType).find(([, known]) => known === type)?.[0];
}

export function describeFamily(family: AfiSafi): string {
  const known = familyOfAfiSafi(family);
  return known === undefined ? `AFI ${family.afi} SAFI ${family.safi}` : `${known} unicast`;
}

/** Capabilities that we do not read, as IANA names them. */
const OTHER_CAPABILITIES: Readonly<Record<number, string>> = {
  3: 'outbound route filtering',
  7: 'BGPsec',
  8: 'multiple labels',
  67: 'dynamic capability',
  68: 'multisession',
  69: 'ADD-PATH',
  71: 'long-lived graceful restart',
  73: 'FQDN',
  75: 'software version',
  76: 'paths limit',
  128: 'route refresh of before RFC 2918',
};

export function describeCapability(capability: Capability): string {
  switch (capability.kind) {
    case 'multiprotocol':
      return `multiprotocol: ${describeFamily(capability)}`;
    case 'extended-next-hop':
      return `extended next hop: ${capability.families.map((f) => `${describeFamily(f)} by AFI ${f.nextHopAfi}`).join(', ')}`;
    case 'role':
      return `role: ${capability.role}`;
    case 'graceful-restart': {
      const flags = [capability.restarting ? 'restarting' : '', capability.notification ? 'for NOTIFICATIONs too' : ''];
      const families = capability.families.map(
        (f) => `${describeFamily(f)}${f.forwarding ? ' (forwarding kept)' : ''}`,
      );
      return ['graceful restart: ' + `${capability.restartTime} s`, ...flags, ...families]
        .filter((s) => s !== '')
        .join(', ');
    }
    case 'four-octet-as':
      return `four-octet AS number: ${capability.asn}`;
    case 'unknown':
      return `${capabilityName(capability.code)}, not used: ${hex(capability.value) || 'no value'}`;
    case 'route-refresh':
    case 'extended-message':
    case 'enhanced-route-refresh':
      return capability.kind.replaceAll('-', ' ');
  }
}

/** Of a capability that we do not read. */
export function capabilityName(code: number): string {
  return OTHER_CAPABILITIES[code] ?? `unknown (${code})`;
}

/** `65001 65002 {65003 65004}`, or `(empty)`. */
export function formatAsPath(path: readonly AsPathSegment[]): string {
  const segments = path.map(({ kind, asns }) => (kind === 'AS_SET' ? `{${asns.join(' ')}}` : asns.join(' ')));
  return segments.join(' ') || '(empty)';
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** `BAD_PEER_AS` as `Bad Peer AS`. */
function nameOf(names: Readonly<Record<string, number>>, value: number): string | undefined {
  const name = Object.entries(names).find(([, known]) => known === value)?.[0];
  return name
    ?.split('_')
    .map((word) => (['AS', 'BGP', 'BFD', 'OPEN'].includes(word) ? word : word.charAt(0) + word.slice(1).toLowerCase()))
    .join(' ');
}
