import { ok, type Result } from '../net/result.ts';
import { callFailed } from './errno.ts';
import { AF_NETLINK, libc, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_RAW } from './libc.ts';

const NETLINK_NETFILTER = 12;
/** `NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN` of <linux/netfilter/nf_tables.h>. */
const GETGEN = (10 << 8) | 16;
const NLM_F_REQUEST = 1;
const NFTA_GEN_ID = 1;
/** struct nlmsghdr and struct nfgenmsg. */
const HEADERS = 16 + 4;

/**
 * The number that the kernel raises by one with each nftables transaction, of whatever program, in the network
 * namespace in which this was opened: microseconds tell that nobody changed anything.
 */
export class RulesetGeneration implements Disposable {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(4_096);

  private constructor(fd: number) {
    this.#fd = fd;
  }

  static open(): Result<RulesetGeneration> {
    const fd = libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    return fd < 0 ? callFailed('socket(NETLINK_NETFILTER)') : ok(new RulesetGeneration(fd));
  }

  /** Undefined where the kernel does not tell. */
  read(): number | undefined {
    const request = new DataView(new ArrayBuffer(HEADERS));
    request.setUint32(0, HEADERS, true);
    request.setUint16(4, GETGEN, true);
    request.setUint16(6, NLM_F_REQUEST, true);
    if (libc.send(this.#fd, new Uint8Array(request.buffer), HEADERS, 0) < 0) return undefined;
    // The kernel answers within the send.
    const length = libc.recv(this.#fd, this.#buffer, this.#buffer.length, MSG_DONTWAIT);
    return length < HEADERS ? undefined : generationOf(this.#buffer.subarray(0, length));
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
  }
}

/** Of the attributes of one NFT_MSG_NEWGEN, the generation, which is in network byte order. */
function generationOf(message: Uint8Array): number | undefined {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  for (let at = HEADERS; at + 4 <= view.byteLength; ) {
    const length = view.getUint16(at, true);
    if (view.getUint16(at + 2, true) === NFTA_GEN_ID && at + 8 <= view.byteLength) return view.getUint32(at + 4);
    at += Math.max(4, (length + 3) & ~3);
  }
  return undefined;
}
