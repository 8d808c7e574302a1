import { familyOf, type Ip, type IpFamily, ipFromBytes, ipToBytes, isV4 } from '../net/ip.ts';
import { ok, type Problem, type Result } from '../net/result.ts';
import { AF_INET, AF_INET6 } from './libc.ts';
import { type Attribute, decodeAttributes, encodeMessage, NLM_F } from './netlink-message.ts';
import { NETLINK, NetlinkSocket } from './netlink-socket.ts';

const NFNL_SUBSYS_CTNETLINK = 1;
/** IPCTNL_MSG_CT_GET and _DELETE of <linux/netfilter/nfnetlink_conntrack.h>. */
const CT_GET = (NFNL_SUBSYS_CTNETLINK << 8) | 1;
const CT_DELETE = (NFNL_SUBSYS_CTNETLINK << 8) | 2;
const IPPROTO_UDP = 17;

const CTA = { original: 1, reply: 2, id: 12, zone: 18, filter: 25 } as const;
const CTA_TUPLE = { ip: 1, protocol: 2 } as const;
const CTA_IP = { v4Source: 1, v4Destination: 2, v6Source: 3, v6Destination: 4 } as const;
const CTA_PROTO = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
const CTA_FILTER_ORIGINAL_FLAGS = 1;
/** CTA_FILTER_F_CTA_IP_DST, _PROTO_NUM and _PROTO_DST_PORT of the kernel's nf_internals.h. */
const FILTER = { destination: 1 << 1, protocol: 1 << 3, destinationPort: 1 << 5 } as const;

/** struct nfgenmsg. */
const GENERIC_HEADER = 4;

/** A UDP flow that the kernel tracks, by where it goes and by who answers. */
export interface TrackedFlow {
  readonly destination: Ip;
  readonly port: number;
  /** Differs from the destination where the flow is translated. */
  readonly answerer: Ip;
  readonly answererPort: number;
}

/** Flows to one VIP and port, or all of a family. */
export type FlowScope =
  | { readonly destination: Ip; readonly port: number }
  | { readonly destination?: undefined; readonly family: IpFamily };

/** Looks at the UDP flows of a network namespace, and ends some of them (ctnetlink). */
export class Conntrack implements Disposable {
  readonly #socket: NetlinkSocket;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
  }

  /** In the network namespace of the calling thread. */
  static open(): Result<Conntrack> {
    const socket = NetlinkSocket.open(NETLINK.netfilter);
    return socket.problem === undefined ? ok(new Conntrack(socket.ok)) : socket;
  }

  /**
   * Ends the UDP flows in these scopes that `stale` says, so that their next packet is a first one. The kernel walks
   * its whole table for each scope, some 10 ms at 50,000 entries, and what it tells of takes longer than the walk;
   * between two parts of it `pause` lets others work.
   * @returns how many
   */
  async endUdp(
    scopes: readonly FlowScope[],
    stale: (flow: TrackedFlow) => boolean,
    pause: () => Promise<void>,
  ): Promise<Result<number>> {
    const deletions: Uint8Array[] = [];
    for (const scope of scopes) {
      for (const part of this.#socket.ask(dumpUdp(scope))) {
        if (part.problem !== undefined) return part;
        for (const { body } of part.ok) {
          const attributes = decodeAttributes(body.subarray(GENERIC_HEADER));
          const flow = flowOf(attributes);
          if (flow !== undefined && stale(flow)) deletions.push(deletionOf(body, attributes));
        }
        await pause();
      }
    }
    return this.#delete(deletions);
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }

  #delete(deletions: readonly Uint8Array[]): Result<number> {
    let ended = 0;
    let failed: Problem | undefined;
    for (const deletion of deletions) {
      const { problem } = this.#socket.change(deletion);
      if (problem === undefined) ended++;
      // It ended by itself meanwhile.
      else if (problem.value !== 'ENOENT') failed = problem;
    }
    return failed === undefined ? ok(ended) : { problem: failed };
  }
}

/** The kernel sorts out the others: Linux 5.8 and later. */
function dumpUdp(scope: FlowScope): Uint8Array {
  const { destination } = scope;
  const protocol: Attribute[] = [[CTA_PROTO.number, Uint8Array.of(IPPROTO_UDP)]];
  const tuple: Attribute[] = [[CTA_TUPLE.protocol, protocol]];
  let flags: number = FILTER.protocol;
  if (destination !== undefined) {
    const type = isV4(destination) ? CTA_IP.v4Destination : CTA_IP.v6Destination;
    tuple.push([CTA_TUPLE.ip, [[type, ipToBytes(destination)]]]);
    protocol.push([CTA_PROTO.destinationPort, Uint8Array.of(scope.port >> 8, scope.port & 0xff)]);
    flags |= FILTER.destination | FILTER.destinationPort;
  }
  const family = destination === undefined ? scope.family : familyOf(destination);
  return encodeMessage(CT_GET, NLM_F.dump, Uint8Array.of(family === 'IPv4' ? AF_INET : AF_INET6, 0, 0, 0), [
    [CTA.original, tuple],
    [CTA.filter, [[CTA_FILTER_ORIGINAL_FLAGS, new Uint8Array(Uint32Array.of(flags).buffer)]]],
  ]);
}

function flowOf(attributes: ReadonlyMap<number, Uint8Array>): TrackedFlow | undefined {
  const original = tupleOf(attributes.get(CTA.original));
  const reply = tupleOf(attributes.get(CTA.reply));
  if (original?.protocol !== IPPROTO_UDP || reply === undefined) return undefined;
  return {
    destination: original.destination,
    port: original.destinationPort,
    answerer: reply.source,
    answererPort: reply.sourcePort,
  };
}

function tupleOf(bytes: Uint8Array | undefined) {
  const parts = bytes && decodeAttributes(bytes);
  const ips = decodeAttributes(parts?.get(CTA_TUPLE.ip) ?? EMPTY);
  const numbers = decodeAttributes(parts?.get(CTA_TUPLE.protocol) ?? EMPTY);
  const source = ips.get(CTA_IP.v4Source) ?? ips.get(CTA_IP.v6Source);
  const destination = ips.get(CTA_IP.v4Destination) ?? ips.get(CTA_IP.v6Destination);
  if (source === undefined || destination === undefined) return undefined;
  return {
    source: ipFromBytes(source),
    destination: ipFromBytes(destination),
    protocol: numbers.get(CTA_PROTO.number)?.[0],
    sourcePort: portOf(numbers.get(CTA_PROTO.sourcePort)),
    destinationPort: portOf(numbers.get(CTA_PROTO.destinationPort)),
  };
}

const EMPTY = new Uint8Array();

function portOf(bytes: Uint8Array | undefined): number {
  const [high = 0, low = 0] = bytes ?? EMPTY;
  return (high << 8) | low;
}

/** Of this very entry: a flow of the same ports may have come after it. */
function deletionOf(body: Uint8Array, attributes: ReadonlyMap<number, Uint8Array>): Uint8Array {
  const kept = [CTA.original, CTA.zone, CTA.id].flatMap((type): Attribute[] => {
    const bytes = attributes.get(type);
    return bytes === undefined ? [] : [[type, bytes]];
  });
  return encodeMessage(CT_DELETE, NLM_F.ack, body.slice(0, GENERIC_HEADER), kept);
}
