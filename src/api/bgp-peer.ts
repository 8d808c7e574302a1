import { z } from 'zod';
import { API_VERSION, conditions, ipText, labelSelector, metadata, name, port, withRules } from './fields.ts';

const asn = (description: string) => z.int().min(1).max(4_294_967_295).describe(description);
const duration = (description: string) =>
  z
    .string()
    .max(16)
    .regex(/^(?:\d{1,6}(?:\.\d{1,3})?)(?:ms|s|m|h)$/, 'is no duration; write e.g. 300ms, 9s or 2m')
    .describe(description);

const spec = withRules(
  z.strictObject({
    localASN: asn('AS number of this side.'),
    peerASN: asn('AS number of the peer.').optional(),
    dynamicASN: z
      .enum(['internal', 'external'])
      .optional()
      .describe("Take the AS number from the peer's OPEN: the own one, or any other."),
    address: ipText('Address of the peer.').optional(),
    interface: z
      .string()
      .min(1)
      .max(15)
      .optional()
      .describe('Unnumbered peer: the neighbour on this interface that sends router advertisements.'),
    port: port('TCP port of the peer.').default(179),
    sourceAddress: ipText('Address to connect from.').optional(),
    sourceInterface: z.string().min(1).max(15).optional().describe('Interface (or VRF) to bind to.'),
    routerID: z
      .string()
      .regex(/^\d{1,3}(\.\d{1,3}){3}$/, 'is no BGP Identifier; write four octets, e.g. 192.0.2.11')
      .optional()
      .describe("BGP Identifier; absent: the node's first IPv4 address."),
    holdTime: duration('Hold Time offered, 0s or at least 3s.').default('9s'),
    keepaliveTime: duration('KeepaliveTime.').default('3s'),
    connectRetryTime: duration('ConnectRetryTime.').default('5s'),
    passwordSecretRef: z
      .strictObject({
        name: name("Secret (type kubernetes.io/basic-auth) in Signpost's namespace, or file in the key folder."),
        key: z.string().max(253).default('password').describe('Key in the Secret.'),
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
    families: z
      .array(z.enum(['ipv4', 'ipv6']))
      .min(1)
      .max(2)
      .default(['ipv4', 'ipv6'])
      .describe('Address families offered.'),
    gracefulRestart: z
      .strictObject({
        enabled: z.boolean().default(true).describe('Offer graceful restart (RFC 4724).'),
        restartTime: duration('How long the peer keeps our routes while we restart.').default('30s'),
      })
      .prefault({})
      .describe('Graceful restart.'),
    bfd: z
      .strictObject({
        transmit: duration('Desired transmit interval.').default('300ms'),
        receive: duration('Required receive interval.').default('300ms'),
        multiplier: z.int().min(1).max(255).default(3).describe('Detection multiplier.'),
      })
      .optional()
      .describe('BFD (RFC 5880); absent: none.'),
    nodeSelector: labelSelector.optional().describe('Nodes that peer; absent: all.'),
    extendedNextHop: z.boolean().default(false).describe('Offer IPv4 routes with an IPv6 next hop (RFC 8950).'),
    role: z
      .enum(['provider', 'customer', 'peer', 'rs-server', 'rs-client'])
      .optional()
      .describe('BGP role of this side (RFC 9234).'),
  }),
  {
    rule: 'has(self.peerASN) != has(self.dynamicASN)',
    message: 'give either peerASN or dynamicASN',
    holds: (value) => (value.peerASN === undefined) !== (value.dynamicASN === undefined),
  },
  {
    rule: 'has(self.address) != has(self.interface)',
    message: 'give either address or interface (unnumbered)',
    holds: (value) => (value.address === undefined) !== (value.interface === undefined),
  },
  {
    rule: '!(has(self.ttlSecurity) && has(self.ebgpMultiHop))',
    message: 'ttlSecurity and ebgpMultiHop exclude each other: remove one',
    holds: (value) => value.ttlSecurity === undefined || value.ebgpMultiHop === undefined,
  },
).describe('What is wanted.');

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
