import { ok, problem, type Result } from '../net/result.ts';
import { callFailed, errnoText } from './errno.ts';
import { AF_NETLINK, libc, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_RAW } from './libc.ts';
import { NETLINK_HEADER } from './netlink-message.ts';

const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const SOL_NETLINK = 270;
const NETLINK_GET_STRICT_CHK = 12;

/** NETLINK_ROUTE and NETLINK_NETFILTER of <linux/netlink.h>. */
export const NETLINK = { route: 0, netfilter: 12 } as const;

export interface NetlinkMessage {
  readonly type: number;
  /** Without struct nlmsghdr. */
  readonly body: Uint8Array;
}

/**
 * Asks the kernel one thing at a time, in the network namespace in which this was opened. The kernel works within the
 * send and the receive, so that no call waits for anything else.
 */
export class NetlinkSocket implements Disposable {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(1 << 16);
  #sequence = 0;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  static open(protocol: number): Result<NetlinkSocket> {
    const fd = libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (fd < 0) return callFailed('socket(AF_NETLINK)');
    // Else the kernel ignores what a dump is limited to.
    libc.setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, Uint8Array.of(1, 0, 0, 0), 4);
    return ok(new NetlinkSocket(fd));
  }

  /**
   * Of a change, which is acknowledged.
   * @returns a problem whose value is the name of the kernel's error, e.g. `EEXIST`
   */
  change(request: Uint8Array): Result<void> {
    for (const answer of this.ask(request)) if (answer.problem !== undefined) return answer;
    return ok(undefined);
  }

  /**
   * Messages as the kernel gives them, a bufferful at a time: the next is asked for when it is wanted, and nothing
   * else may be asked before the last.
   */
  *ask(request: Uint8Array): Generator<Result<readonly NetlinkMessage[]>> {
    const sequence = ++this.#sequence;
    new DataView(request.buffer, request.byteOffset).setUint32(8, sequence, true);
    if (libc.send(this.#fd, request, request.length, 0) < 0) {
      yield callFailed('send(AF_NETLINK)');
      return;
    }
    for (;;) {
      const length = libc.recv(this.#fd, this.#buffer, this.#buffer.length, MSG_DONTWAIT);
      if (length < 0) {
        yield callFailed('recv(AF_NETLINK)');
        return;
      }
      const messages = messagesOf(this.#buffer.slice(0, length), sequence);
      const end = messages.findIndex(({ type }) => type === NLMSG_DONE || type === NLMSG_ERROR);
      yield end < 0 ? ok(messages) : outcome(messages[end] as NetlinkMessage, messages.slice(0, end));
      if (end >= 0) return;
    }
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
  }
}

/** Both begin with an error number: 0, or less than 0. */
function outcome(last: NetlinkMessage, before: readonly NetlinkMessage[]): Result<readonly NetlinkMessage[]> {
  const error = last.body.length < 4 ? 0 : new DataView(last.body.buffer, last.body.byteOffset).getInt32(0, true);
  return error < 0 ? problem('netlink', errnoText(-error), 'the kernel refused what it was asked', '') : ok(before);
}

function messagesOf(bytes: Uint8Array, sequence: number): NetlinkMessage[] {
  const messages: NetlinkMessage[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + NETLINK_HEADER <= bytes.length; ) {
    const length = view.getUint32(at, true);
    if (length < NETLINK_HEADER || at + length > bytes.length) break;
    const body = bytes.subarray(at + NETLINK_HEADER, at + length);
    if (view.getUint32(at + 8, true) === sequence) messages.push({ type: view.getUint16(at + 4, true), body });
    at += (length + 3) & ~3;
  }
  return messages;
}
