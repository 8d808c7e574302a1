import * as z from 'zod';
import { DURATION, milliseconds } from './duration.ts';
import { API_VERSION, conditions, interfaceName, ipText, labelSelector, metadata, name, port } from './fields.ts';
import { type Rule, setOf, withRules } from './rules.ts';

const asn = (description: string) => z.int().min(1).max(4_294_967_295).describe(description);

/** A duration between two bounds, both included, as they are written in CEL. */
function duration(description: string, least: string, most: string, orZero = false) {
  const [low, high] = [milliseconds(least), milliseconds(most)];
  const zero = orZero ? "duration(self) == duration('0s') || " : '';
  return withRules(z.string().max(16).regex(DURATION, 'is not a duration; write e.g. 300ms, 9s or 2m'), {
    rule: `${zero}duration(self) >= duration('${least}') && duration(self) <= duration('${most}')`,
    message: `is out of bounds; write ${orZero ? '0s or ' : ''}${least} to ${most}`,
    // What is no duration is a matter of the pattern.
    holds: (text) => {
      const time = milliseconds(text);
      return Number.isNaN(time) || (orZero && time === 0) || (time >= low && time <= high);
    },
  }).describe(description);
}

const gracefulRestart = z.strictObject({
  enabled: z.boolean().default(true).describe('Offer graceful restart (RFC 4724).'),
  // RFC 4724 section 3: 12 bits of seconds.
  restartTime: duration('How long the peer keeps our routes while we restart.', '1s', '4095s').default('30s'),
});

const bfd = z.strictObject({
  transmit: duration('Desired transmit interval.', '10ms', '60s').default('300ms'),
  receive: duration('Required receive interval.', '10ms', '60s').default('300ms'),
  multiplier: z.int().min(1).max(255).default(3).describe('Intervals without a packet after which the peer is down.'),
});

const fields = z.strictObject({
  localASN: asn('AS number of this side.'),
  peerASN: asn('AS number of the peer.').optional(),
  dynamicASN: z
    .enum(['internal', 'external'])
    .optional()
    .describe("Take the AS number from the peer's OPEN; internal: it must be localASN, external: any other."),
  address: ipText('Address of the peer.').optional(),
  interface: interfaceName(
    'Unnumbered peer: the neighbour on this interface that sends router advertisements.',
  ).optional(),
  port: port('TCP port of the peer.').default(179),
  sourceAddress: ipText('Address to connect from.').optional(),
  sourceInterface: interfaceName('Interface (or VRF) to bind to.').optional(),
  routerID: z
    .string()
    .max(15)
    .regex(/^\d{1,3}(\.\d{1,3}){3}$/, 'is not a BGP Identifier; write four octets, e.g. 192.0.2.11')
    .optional()
    .describe("BGP Identifier; absent: the node's first IPv4 address."),
  // RFC 4271 section 4.2: zero or at least three seconds, in 16 bits.
  holdTime: duration('Hold Time offered.', '3s', '65535s', true).default('9s'),
  keepaliveTime: duration('KeepaliveTime.', '1s', '21845s', true).default('3s'),
  connectRetryTime: duration('ConnectRetryTime.', '1s', '3600s').default('5s'),
  passwordSecretRef: z
    .strictObject({
      name: name("Secret (type kubernetes.io/basic-auth) in Signpost's namespace, or file in the key folder."),
      key: z.string().min(1).max(253).default('password').describe('Key in the Secret.'),
    })
    .optional()
    .describe('TCP MD5 password (RFC 2385).'),
  ttlSecurity: z
    .strictObject({ hops: z.int().min(1).max(254).default(1).describe('Distance of the peer in hops.') })
    .optional()
    .describe('GTSM (RFC 5082).'),
  ebgpMultiHop: z
    .strictObject({ ttl: z.int().min(2).max(255).default(255).describe('TTL of packets to the peer.') })
    .optional()
    .describe('The peer is not on a connected network.'),
  passive: z.boolean().default(false).describe('Wait for the peer to connect.'),
  families: setOf(
    z
      .array(z.enum(['ipv4', 'ipv6']))
      .min(1)
      .max(2),
  )
    .default(['ipv4', 'ipv6'])
    .describe('Address families offered.'),
  gracefulRestart: gracefulRestart.prefault({}).describe('Graceful restart.'),
  bfd: bfd.optional().describe('BFD (RFC 5880); absent: none.'),
  nodeSelector: labelSelector.optional().describe('Nodes that peer; absent: all.'),
  extendedNextHop: z.boolean().default(false).describe('Offer IPv4 routes with an IPv6 next hop (RFC 8950).'),
  role: z
    .enum(['provider', 'customer', 'peer', 'rs-server', 'rs-client'])
    .optional()
    .describe('BGP role of this side (RFC 9234), for external peers.'),
});

const rules: readonly Rule<z.output<typeof fields>>[] = [
  {
    rule: 'has(self.peerASN) != has(self.dynamicASN)',
    message: 'needs one of peerASN and dynamicASN; give exactly one',
    holds: (peer) => (peer.peerASN === undefined) !== (peer.dynamicASN === undefined),
  },
  {
    rule: 'has(self.address) != has(self.interface)',
    message: 'needs one of address and interface; give exactly one',
    holds: (peer) => (peer.address === undefined) !== (peer.interface === undefined),
  },
  {
    rule: '!(has(self.ttlSecurity) && has(self.ebgpMultiHop))',
    message: 'ttlSecurity and ebgpMultiHop exclude each other; remove one',
    holds: (peer) => peer.ttlSecurity === undefined || peer.ebgpMultiHop === undefined,
  },
  {
    rule:
      '!has(self.sourceAddress) || !has(self.address) || !isIP(self.address) || !isIP(self.sourceAddress)' +
      ' || ip(self.address).family() == ip(self.sourceAddress).family()',
    message: 'sourceAddress and address are of two families; give both in one',
    holds: ({ address, sourceAddress }) =>
      address === undefined || sourceAddress === undefined || address.includes(':') === sourceAddress.includes(':'),
  },
  {
    rule:
      "duration(self.holdTime) == duration('0s') ||" +
      " duration(self.keepaliveTime) > duration('0s') && duration(self.keepaliveTime) < duration(self.holdTime)",
    message: 'keepaliveTime is not below holdTime; write a third of holdTime',
    holds: ({ holdTime, keepaliveTime }) => {
      const [hold, keepalive] = [milliseconds(holdTime), milliseconds(keepaliveTime)];
      return Number.isNaN(hold + keepalive) || hold === 0 || (keepalive > 0 && keepalive < hold);
    },
  },
  {
    rule: "!has(self.role) || (has(self.peerASN) ? self.peerASN != self.localASN : self.dynamicASN != 'internal')",
    message: 'role is for external peers alone; remove it',
    holds: (peer) =>
      peer.role === undefined ||
      (peer.peerASN === undefined ? peer.dynamicASN !== 'internal' : peer.peerASN !== peer.localASN),
  },
];

const spec = withRules(fields, ...rules).describe('What is wanted.');

const status = z
  .strictObject({
    established: z.string().optional().describe('Nodes with an established session, of those that should have one.'),
    conditions,
  })
  .describe('What is true now; written by Signpost alone.');

export const BGPPeerSchema = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('BGPPeer'),
    metadata,
    spec,
    status: status.optional(),
  })
  .describe('A router that VIPs are announced to.');

export type BGPPeer = z.output<typeof BGPPeerSchema>;
