import * as z from 'zod';
import { API_VERSION, conditions, metadata } from './fields.ts';

const text = (description: string) => z.string().describe(description);

const status = z
  .strictObject({
    version: text('Version of the daemon.').optional(),
    interfaces: z
      .array(text('An interface that may announce.'))
      .max(64)
      .optional()
      .describe('Interfaces that may announce.'),
    lease: z
      .strictObject({
        held: z.boolean().describe('A majority of the voters confirms this speaker.'),
        voters: z.array(text('A node.')).max(7).describe('Who confirms it.'),
        since: text('Since when.').optional(),
      })
      .optional()
      .describe('Right to answer for VIPs.'),
    sessions: z
      .array(
        z.strictObject({
          peer: text('BGPPeer.'),
          state: text('State of the session (RFC 4271 section 8).'),
          since: text('Since when.').optional(),
          lastError: text('Last error in words.').optional(),
          bfd: text('State of BFD.').optional(),
        }),
      )
      .max(64)
      .optional()
      .describe('BGP sessions.'),
    vips: z
      .array(
        z.strictObject({
          address: text('The VIP.'),
          mode: z.enum(['L2', 'BGP']).describe('How.'),
          interface: text('Where.').optional(),
        }),
      )
      .max(1024)
      .optional()
      .describe('VIPs that this node announces.'),
    proofs: z
      .array(
        z.strictObject({
          address: text('The VIP.'),
          node: text('Who holds it.'),
          reachable: z.boolean().describe("It answered with the holder's MAC address."),
          answeredBy: text('The MAC address that answered instead.').optional(),
        }),
      )
      .max(1024)
      .optional()
      .describe('VIPs of other nodes that this node asked for on the LAN.'),
    forwarding: z
      .strictObject({ mode: text('What carries the packets.') })
      .optional()
      .describe('Data path.'),
    summary: z
      .strictObject({
        l2Vips: text('VIPs answered for.').optional(),
        sessions: text('Established of configured.').optional(),
        ready: text('True or False.').optional(),
      })
      .optional()
      .describe('The same in short, for columns.'),
    conditions,
  })
  .describe('What is true on the node; written by that node alone.');

export const SpeakerSchema = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('Speaker'),
    metadata,
    spec: z
      .strictObject({
        drain: z.boolean().default(false).describe('Hand everything over and take nothing; set by `signpost drain`.'),
      })
      .prefault({})
      .describe('What is wanted.'),
    status: status.optional(),
  })
  .describe('The speaker of one node.');

export type Speaker = z.output<typeof SpeakerSchema>;
