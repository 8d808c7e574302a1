import * as z from 'zod';
import { API_VERSION, conditions, label, metadata, name, port, prefixText, vipText } from './fields.ts';
import { immutable, keyedBy, unique, withRules } from './rules.ts';

export const CONTROLLER_NAME = 'signpost.dev/speaker';

const backendRef = z
  .strictObject({
    group: z.literal('').default('').describe('API group of the backend: always empty, for Service.'),
    kind: z.literal('Service').default('Service').describe('Kind of the backend: always Service.'),
    namespace: label("Namespace of the Service; another than the route's needs a ReferenceGrant there.").optional(),
    name: name('Name of the Service.'),
    port: port('Port of the Service (not of its pods).').optional(),
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(1)
      .describe('Share of new connections, relative to the other backends of the rule; 0 takes none.'),
  })
  .describe('A Service that takes connections.');

const protocol = z.enum(['TCP', 'UDP', 'SCTP']);

const rule = withRules(
  z.strictObject({
    name: label('Name of the rule, unique in the route.'),
    protocol: protocol
      .optional()
      .describe('Protocol; absent together with port: every port of the one backend Service.'),
    port: port('Port of the VIP.').optional(),
    backendRefs: z.array(backendRef).min(1).max(16).describe('Services behind the port.'),
    sourceRanges: z
      .array(prefixText('A CIDR.'))
      .max(64)
      .optional()
      .describe("Clients that may use this port, instead of the route's sourceRanges."),
  }),
  {
    rule: 'has(self.protocol) == has(self.port)',
    message: 'protocol and port go together; give both, or neither to follow every port of the Service',
    holds: (value) => (value.protocol === undefined) === (value.port === undefined),
  },
  {
    rule: 'has(self.port) || (size(self.backendRefs) == 1 && !has(self.backendRefs[0].port))',
    message: 'a rule without protocol and port follows one Service; give it one backendRef without port',
    holds: (value) =>
      value.port !== undefined || (value.backendRefs.length === 1 && value.backendRefs[0]?.port === undefined),
  },
  {
    rule: '!has(self.port) || self.backendRefs.all(b, has(b.port))',
    message: 'a backendRef has no port; give each the port of its Service',
    holds: (value) => value.port === undefined || value.backendRefs.every((ref) => ref.port !== undefined),
  },
).describe('One port of the VIP and the Services behind it.');

const affinity = withRules(
  z.strictObject({
    type: z
      .enum(['None', 'ClientIP', 'Hash'])
      .default('None')
      .describe(
        'None: each connection anew. ClientIP: a client keeps its endpoint. Hash: by a stateless hash, the same on every node.',
      ),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .optional()
      .describe('ClientIP: how long after its last new connection a client keeps its endpoint; 10800 if absent.'),
  }),
  {
    rule: "!has(self.timeoutSeconds) || self.type == 'ClientIP'",
    message: 'timeoutSeconds is for type ClientIP alone; remove it or set type to ClientIP',
    holds: (value) => value.timeoutSeconds === undefined || value.type === 'ClientIP',
  },
);

const spec = withRules(
  z.strictObject({
    controllerName: immutable(z.string().min(1).max(253), 'controllerName')
      .default(CONTROLLER_NAME)
      .describe('Who implements the route; another value is left alone by Signpost. Cannot be changed.'),
    addressPool: name(
      'AddressPool to take the VIP from; absent: a pool with autoAssign that admits the namespace.',
    ).optional(),
    addresses: z
      .array(vipText('An address of a pool.'))
      .max(2)
      .optional()
      .describe('Wanted VIPs, at most one per family.'),
    ipFamilyPolicy: z
      .enum(['SingleStack', 'PreferDualStack', 'RequireDualStack'])
      .default('SingleStack')
      .describe('How many families the route gets a VIP of.'),
    rules: keyedBy('name', z.array(rule).min(1).max(64)).describe('Ports of the VIP.'),
    forwarding: z
      .enum(['Auto', 'Endpoints', 'Direct', 'ClusterIP'])
      .default('Endpoints')
      .describe(
        'How packets reach the pods: see docs/forwarding.md, and docs/direct.md for Direct. Auto: Direct where it can be.',
      ),
    trafficPolicy: z
      .enum(['Cluster', 'Local'])
      .default('Cluster')
      .describe('Local: only nodes with a ready endpoint announce, and the client address is kept.'),
    sessionAffinity: affinity.prefault({}).describe('Which endpoint a returning client gets.'),
    sourceRanges: z
      .array(prefixText('A CIDR.'))
      .max(64)
      .optional()
      .describe('Clients that may use the route; absent or empty: all.'),
  }),
  {
    rule:
      '!has(self.addresses) || size(self.addresses) < 2 || !self.addresses.all(a, isIP(a)) ||' +
      ' ip(self.addresses[0]).family() != ip(self.addresses[1]).family()',
    message: 'addresses holds two of one family; give at most one IPv4 and one IPv6 address',
    holds: ({ addresses = [] }) => addresses.length < 2 || addresses[0]?.includes(':') !== addresses[1]?.includes(':'),
  },
  {
    rule:
      'self.rules.all(r, !has(r.port) || !has(r.protocol) || self.rules.exists_one(o,' +
      ' has(o.port) && has(o.protocol) && o.port == r.port && o.protocol == r.protocol))',
    message: 'two rules have the same protocol and port; join them into one with several backendRefs',
    holds: ({ rules }) =>
      unique(rules.flatMap((r) => (r.port === undefined || r.protocol === undefined ? [] : `${r.port}/${r.protocol}`))),
  },
).describe('What is wanted.');

const announcement = z.strictObject({
  address: z.string().describe('The VIP.'),
  mode: z.enum(['L2', 'BGP']).describe('How it is announced.'),
  node: z.string().describe('Node that announces it.'),
  interface: z.string().optional().describe('L2: the interface.'),
  peers: z.array(z.string()).max(16).optional().describe('BGP: the peers that it is advertised to.'),
  since: z.string().meta({ format: 'date-time' }).describe('Since when.'),
});

const status = z
  .strictObject({
    addresses: z
      .array(
        z.strictObject({
          type: z.literal('IPAddress').describe('Always IPAddress.'),
          value: z.string().describe('The VIP.'),
        }),
      )
      .max(2)
      .optional()
      .describe('VIPs that are assigned.'),
    conditions,
    announcements: z.array(announcement).max(16).optional().describe('Who announces; at most 16 are listed.'),
    announcementCount: z.int().optional().describe('How many announce in all.'),
    summary: z
      .strictObject({
        addresses: z.string().optional().describe('VIPs, comma-separated.'),
        ports: z.string().optional().describe('Ports, comma-separated.'),
        backends: z.string().optional().describe('Services, comma-separated.'),
        announcedBy: z.string().optional().describe('Nodes that announce.'),
        mode: z.string().optional().describe('L2 or BGP.'),
        endpoints: z.string().optional().describe('Ready endpoints.'),
        pool: z.string().optional().describe('AddressPool.'),
      })
      .optional()
      .describe('The same in short, for columns.'),
  })
  .describe('What is true now; written by Signpost alone.');

export const ServiceRouteSchema = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('ServiceRoute'),
    metadata,
    spec,
    status: status.optional(),
  })
  .describe('This VIP, these ports, go to these Services.');

export type ServiceRoute = z.output<typeof ServiceRouteSchema>;
