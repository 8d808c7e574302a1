import * as z from 'zod';
import { parseIp } from '../../net/ip.ts';
import { parseVip } from '../../net/names.ts';
import { parsePrefix } from '../../net/prefix.ts';
import type { Result } from '../../net/result.ts';
import { parsePoolRange } from './pool-range.ts';
import { type CelRule, keyedBy, withCel } from './rules.ts';

/** A string that `parse` accepts. Where CEL can say the same, or a part of it, the API server refuses it too. */
function textOf(parse: (text: string) => Result<unknown>, maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .superRefine((text, context) => {
      const { problem } = parse(text);
      if (problem === undefined) return;
      context.addIssue({ code: 'custom', message: `${problem.message}; ${problem.fix}`, input: text });
    });
}

const IS_IP: CelRule = {
  rule: 'isIP(self)',
  message: 'is not an IP address; write an address such as 203.0.113.10 or 2001:db8::10',
};

export const ipText = (description: string) => withCel(textOf(parseIp, 45), IS_IP).describe(description);

/** An address that can be announced; which those are CEL does not say. */
export const vipText = (description: string) => withCel(textOf(parseVip, 45), IS_IP).describe(description);

export const prefixText = (description: string) =>
  withCel(
    textOf(parsePrefix, 49),
    { rule: 'isCIDR(self)', message: 'is not a CIDR; write a network such as 203.0.113.0/26 or 2001:db8:5::/120' },
    {
      rule: '!isCIDR(self) || cidr(self).masked() == cidr(self)',
      message: 'has bits set beyond its prefix length; write the first address of the network',
    },
  ).describe(description);

/** CEL has no words for ranges: the API server takes any text and `Accepted` tells. */
export const rangeText = (description: string) => textOf(parsePoolRange, 91).describe(description);

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

function named(pattern: RegExp, maxLength: number, error: string) {
  return (description: string) => z.string().min(1).max(maxLength).regex(pattern, error).describe(description);
}

/** An RFC 1123 label: names of namespaces and of rules. */
export const label = named(
  new RegExp(`^${LABEL}$`),
  63,
  'is not a DNS label; write lower-case letters, digits and "-"',
);

/** An RFC 1123 subdomain: names of objects. */
export const name = named(
  new RegExp(`^${LABEL}(\\.${LABEL})*$`),
  253,
  'is not a Kubernetes name; write lower-case letters, digits, "-" and "."',
);

export const interfaceName = named(
  /^[A-Za-z0-9_.@+-]+$/,
  15,
  'is not an interface name; write at most 15 of A-Z a-z 0-9 _ . @ + -, e.g. eth0',
);

export const interfaceGlob = named(
  /^[A-Za-z0-9_.@+*?-]+$/,
  15,
  'is not an interface name or glob; write e.g. eth0 or eth*',
);

export const port = (description: string) => z.int().min(1).max(65535).describe(description);

export const labels = z.record(z.string(), z.string());

export const labelSelector = z
  .strictObject({
    matchLabels: labels.optional().describe('Labels that must have exactly these values.'),
    matchExpressions: z
      .array(
        z.strictObject({
          key: z.string().min(1).describe('Label key.'),
          operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How the values are compared.'),
          values: z.array(z.string()).max(64).optional().describe('Values for In and NotIn.'),
        }),
      )
      .max(16)
      .optional()
      .describe('Further requirements, all of which must hold.'),
  })
  .describe('Kubernetes label selector; empty selects everything.');

/** `metadata` as far as it is read. */
export const metadata = z.object({
  name: name('Name.'),
  namespace: label('Namespace.').optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().int().optional(),
  creationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  deletionTimestamp: z.string().nullish(),
  labels: labels.nullish(),
  annotations: labels.nullish(),
});

export const condition = z
  .strictObject({
    type: z.string().describe('Accepted, ResolvedRefs, Programmed, Reachable and others; see docs/conditions.md.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
    reason: z.string().describe('One word of a documented, closed list.'),
    message: z.string().max(4096).describe('What to do, in words.'),
    observedGeneration: z.int().min(0).optional().describe('Generation of the spec that was judged.'),
    lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('When the status last changed.'),
  })
  .describe('One observation of the object.');

export const conditions = keyedBy('type', z.array(condition).max(16))
  .optional()
  .describe('What is true of the object now.');

export const GROUP = 'signpost.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}` as const;
