import * as z from 'zod';
import { GROUP, VERSION } from '../src/api/fields.ts';
import { KINDS, type Kind } from '../src/api/kinds.ts';

interface Column {
  readonly name: string;
  readonly jsonPath: string;
  readonly type?: 'string' | 'integer' | 'boolean' | 'date';
  /** Shown by `kubectl get -o wide` alone. */
  readonly wide?: boolean;
}

export interface CrdDefinition {
  readonly kind: Extract<Kind, 'ServiceRoute' | 'AddressPool' | 'BGPPeer' | 'Speaker'>;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly columns: readonly Column[];
}

const summary = (name: string, field: string): Column => ({ name, jsonPath: `.status.summary.${field}` });
const programmed = (name: string, field: string): Column => ({
  name,
  jsonPath: `.status.conditions[?(@.type=="Programmed")].${field}`,
});
const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const wide = (column: Column): Column => ({ ...column, wide: true });

export const CRDS: readonly CrdDefinition[] = [
  {
    kind: 'ServiceRoute',
    plural: 'serviceroutes',
    shortNames: ['sr'],
    columns: [
      summary('Address', 'addresses'),
      summary('Ports', 'ports'),
      summary('Backends', 'backends'),
      summary('Announced-By', 'announcedBy'),
      programmed('Programmed', 'status'),
      age,
      wide(summary('Mode', 'mode')),
      wide(summary('Endpoints', 'endpoints')),
      wide({ name: 'Policy', jsonPath: '.spec.trafficPolicy' }),
      wide(summary('Pool', 'pool')),
      wide(programmed('Reason', 'reason')),
    ],
  },
  {
    kind: 'AddressPool',
    plural: 'addresspools',
    shortNames: ['pool'],
    columns: [
      { name: 'Total', type: 'integer', jsonPath: '.status.total' },
      { name: 'Used', type: 'integer', jsonPath: '.status.used' },
      { name: 'Auto', type: 'boolean', jsonPath: '.spec.autoAssign' },
      age,
    ],
  },
  {
    kind: 'BGPPeer',
    plural: 'bgppeers',
    shortNames: ['peer'],
    columns: [
      { name: 'ASN', type: 'integer', jsonPath: '.spec.peerASN' },
      { name: 'Address', jsonPath: '.spec.address' },
      { name: 'Established', jsonPath: '.status.established' },
      age,
      wide({ name: 'Interface', jsonPath: '.spec.interface' }),
    ],
  },
  {
    kind: 'Speaker',
    plural: 'speakers',
    shortNames: [],
    columns: [
      summary('L2-VIPs', 'l2Vips'),
      summary('Sessions', 'sessions'),
      summary('Ready', 'ready'),
      { name: 'Version', jsonPath: '.status.version' },
      age,
    ],
  },
];

export type JsonSchema = { [key: string]: unknown };

/** The kind's spec and status as a structural schema (KEP-1979): no unions, no additionalProperties beside properties. */
export function structuralSchema(kind: CrdDefinition['kind']): JsonSchema {
  const { schema } = KINDS[kind];
  const { description, required, properties } = prune(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }));
  const { spec, status } = properties as JsonSchema;
  return {
    description,
    type: 'object',
    ...((required as string[]).includes('spec') ? { required: ['spec'] } : {}),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec,
      status,
    },
  };
}

/** Takes out what JSON Schema says and a structural schema may not. */
function prune(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  const pruned: JsonSchema = { ...rest };
  delete pruned['propertyNames'];
  if (properties !== undefined) {
    const entries = Object.entries(properties as Record<string, JsonSchema>);
    pruned['properties'] = Object.fromEntries(entries.map(([name, child]) => [name, prune(child)]));
  }
  if (items !== undefined) pruned['items'] = prune(items as JsonSchema);
  if (typeof additionalProperties === 'object') {
    pruned['additionalProperties'] = prune(additionalProperties as JsonSchema);
  }
  return pruned;
}

/** The CustomResourceDefinition, ready to be applied. */
export function customResourceDefinition({ kind, plural, shortNames, columns }: CrdDefinition): JsonSchema {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, labels: { 'app.kubernetes.io/name': 'signpost' } },
    spec: {
      group: GROUP,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length > 0 ? { shortNames } : {}),
        categories: ['signpost'],
      },
      scope: KINDS[kind].namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns.map(({ name, jsonPath, type = 'string', wide: isWide }) => ({
            name,
            type,
            jsonPath,
            ...(isWide === true ? { priority: 1 } : {}),
          })),
          schema: { openAPIV3Schema: structuralSchema(kind) },
        },
      ],
    },
  };
}

/** Every CEL rule in a schema with the path of what it judges: `spec.rules[]`. */
export function celRules(schema: JsonSchema, path: string): { readonly path: string; readonly message: string }[] {
  const own = (schema['x-kubernetes-validations'] ?? []) as { readonly message: string }[];
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const items = schema['items'] as JsonSchema | undefined;
  return [
    ...own.map(({ message }) => ({ path, message })),
    ...properties.flatMap(([name, field]) => celRules(field, path === '' ? name : `${path}.${name}`)),
    ...(items === undefined ? [] : celRules(items, `${path}[]`)),
  ];
}
