import * as z from 'zod';
import { API_VERSION, conditions, interfaceGlob, label, labelSelector, metadata, name, rangeText } from './fields.ts';

const community = z
  .string()
  .max(32)
  .regex(
    /^(?:\d{1,5}:\d{1,5}|\d{1,10}:\d{1,10}:\d{1,10}|no-export|no-advertise|no-export-subconfed|graceful-shutdown|blackhole|accept-own)$/,
    'is not a community; write 65000:100, 65000:1:2 or a well-known name such as no-export',
  )
  .describe('A standard (65000:100), large (65000:1:2) or well-known (no-export) community.');

const advertisement = z
  .strictObject({
    peers: labelSelector.optional().describe('BGPPeers to advertise to; absent: all.'),
    nodeSelector: labelSelector.optional().describe('Nodes that advertise; absent: all.'),
    aggregationLength: z
      .int()
      .min(1)
      .max(32)
      .default(32)
      .describe('Prefix length of what is advertised for an IPv4 VIP.'),
    aggregationLengthV6: z
      .int()
      .min(1)
      .max(128)
      .default(128)
      .describe('Prefix length of what is advertised for an IPv6 VIP.'),
    localPreference: z
      .int()
      .min(0)
      .max(4_294_967_295)
      .optional()
      .describe('LOCAL_PREF towards internal peers; 100 if absent.'),
    med: z.int().min(0).max(4_294_967_295).optional().describe('MULTI_EXIT_DISC; absent: not sent.'),
    communities: z.array(community).max(32).optional().describe('Communities of the routes.'),
    prepend: z.int().min(0).max(16).default(0).describe('How many times the own AS is prepended in addition.'),
  })
  .describe('One way in which the VIPs of the pool are advertised.');

const spec = z
  .strictObject({
    addresses: z
      .array(rangeText('203.0.113.0/26, 203.0.113.100-203.0.113.120 or a single address.'))
      .min(1)
      .max(64)
      .describe('Addresses of the pool.'),
    avoidBuggyAddresses: z.boolean().default(true).describe('Never assign .0 and .255, which some old devices refuse.'),
    autoAssign: z.boolean().default(true).describe('Whether routes that name no pool may take addresses of this one.'),
    priority: z.int().min(-1000).max(1000).default(0).describe('Pools of lower value are tried first.'),
    allow: z
      .strictObject({
        namespaces: z.array(label('A namespace.')).max(256).optional().describe('Namespaces that may use the pool.'),
        namespaceSelector: labelSelector.optional().describe('And those that these labels select.'),
      })
      .prefault({})
      .describe('Who may use the pool; empty: everybody.'),
    sharing: z
      .enum(['Namespace', 'Cluster'])
      .default('Namespace')
      .describe('Whether routes of several namespaces may share one VIP on different ports.'),
    l2: z
      .strictObject({
        enabled: z.boolean().default(true).describe('Whether VIPs are announced by ARP and NDP.'),
        interfaces: z
          .array(interfaceGlob('An interface.'))
          .max(32)
          .optional()
          .describe('Names or globs of interfaces that announce; absent: every one in the subnet of the VIP.'),
        nodeSelector: labelSelector.optional().describe('Nodes that may announce; absent: all.'),
        preferredNodes: z
          .array(name('A node.'))
          .max(16)
          .optional()
          .describe('Nodes that lead before others, the best first.'),
        fencing: z
          .enum(['Prefer', 'Require'])
          .default('Prefer')
          .describe('Require: a VIP stays dark where no majority of speakers can confirm its leader.'),
      })
      .optional()
      .describe('Announcement on the LAN.'),
    bgp: z.array(advertisement).max(16).optional().describe('Announcement to routers.'),
  })
  .describe('What is wanted.');

const status = z
  .strictObject({
    total: z.int().optional().describe('Addresses in the pool; 2^53 where there are more.'),
    used: z.int().optional().describe('Addresses that are assigned.'),
    conditions,
  })
  .describe('What is true now; written by Signpost alone.');

export const AddressPoolSchema = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('AddressPool'),
    metadata,
    spec,
    status: status.optional(),
  })
  .describe('Addresses for VIPs, who may use them, where and how they are announced.');

export type AddressPool = z.output<typeof AddressPoolSchema>;
