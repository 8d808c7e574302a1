import * as z from 'zod';
import { type labels, metadata } from './fields.ts';

/** The parts of Kubernetes' own kinds that are read. Other fields are dropped, never refused. */

const portNumber = z.int().min(1).max(65535);
const protocol = z.enum(['TCP', 'UDP', 'SCTP']).default('TCP');
/** The API server sends null for what Go leaves nil. */
const list = <T extends z.ZodType>(item: T) => z.array(item).nullish();

export const ServiceSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z
    .object({
      type: z.string().default('ClusterIP'),
      clusterIPs: list(z.string()),
      publishNotReadyAddresses: z.boolean().nullish(),
      ports: list(z.object({ name: z.string().default(''), protocol, port: portNumber })),
    })
    .prefault({}),
});

export const EndpointSliceSchema = z.object({
  apiVersion: z.literal('discovery.k8s.io/v1'),
  kind: z.literal('EndpointSlice'),
  metadata,
  addressType: z.enum(['IPv4', 'IPv6', 'FQDN']),
  ports: list(z.object({ name: z.string().nullish(), protocol: protocol.nullish(), port: portNumber.nullish() })),
  endpoints: list(
    z.object({
      addresses: z.array(z.string()),
      conditions: z
        .object({ ready: z.boolean().nullish(), serving: z.boolean().nullish(), terminating: z.boolean().nullish() })
        .nullish(),
      nodeName: z.string().nullish(),
    }),
  ),
});

export const NodeSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Node'),
  metadata,
  spec: z
    .object({
      podCIDRs: list(z.string()),
      taints: list(z.object({ key: z.string(), effect: z.string() })),
    })
    .nullish(),
  status: z
    .object({
      addresses: list(z.object({ type: z.string(), address: z.string() })),
      conditions: list(z.object({ type: z.string(), status: z.string() })),
    })
    .nullish(),
});

export const NamespaceSchema = z.object({ apiVersion: z.literal('v1'), kind: z.literal('Namespace'), metadata });

export const ReferenceGrantSchema = z.object({
  apiVersion: z.enum(['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1']),
  kind: z.literal('ReferenceGrant'),
  metadata,
  spec: z.object({
    from: z.array(z.object({ group: z.string(), kind: z.string(), namespace: z.string() })),
    to: z.array(z.object({ group: z.string(), kind: z.string(), name: z.string().nullish() })),
  }),
});

/** The label by which a slice names its Service. */
export function serviceOfSlice(slice: {
  readonly metadata: { readonly labels?: z.output<typeof labels> | null | undefined };
}) {
  return slice.metadata.labels?.['kubernetes.io/service-name'];
}
