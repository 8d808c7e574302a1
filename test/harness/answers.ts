import { arpRequest, solicitation } from '../../arp/index.ts';
import { type Ip, isV4, isV6, parseIp } from '../../net/ip.ts';
import { type Mac, parseMac } from '../../net/mac.ts';
import { must } from '../../net/result.ts';
import { ETH_P_ARP, ETH_P_IPV6, PacketSocket } from '../../sys/packet-socket.ts';
import type { Capture, Packet } from './capture.ts';
import type { Namespace } from './namespace.ts';
import type { Dual } from './nodes.ts';

/** A frame that says who has a VIP: an ARP reply, a gratuitous ARP, a neighbour advertisement. */
export interface Answer {
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly vip: string;
  /** The source of the frame. */
  readonly mac: string;
}

/** Answers of one MAC address with none of another between them. */
export interface Turn {
  readonly mac: string;
  readonly from: number;
  readonly to: number;
}

const ASK_EVERY_MS = 5;
const CLAIM =
  /^([\da-f:]{17}) > .*(?:Reply (\S+) is-at|who-has (\S+)(?: \([\da-f:]+\))? tell \3,|Announcement (\S+),|neighbor advertisement,.* tgt is ([\da-f:]+),)/;

/** Asks for VIPs 200 times a second as any host would, and keeps who answered, as tcpdump saw it at that host. */
export class AnswerRecord implements AsyncDisposable {
  readonly #capture: Capture;
  readonly #asker: Asker;

  private constructor(capture: Capture, asker: Asker) {
    this.#capture = capture;
    this.#asker = asker;
  }

  static async start(host: Namespace, own: Dual, vips: readonly string[]): Promise<AnswerRecord> {
    // Neighbour advertisements are ICMPv6 of type 136 (RFC 4861 section 4.4).
    const capture = await host.capture('arp or (icmp6 and ip6[40] == 136)');
    return new AnswerRecord(capture, await Asker.start(host, own, vips));
  }

  async stop(): Promise<Answer[]> {
    this.#asker[Symbol.dispose]();
    const packets = await this.#capture.stop();
    return packets.flatMap((packet) => readAnswer(packet) ?? []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#asker[Symbol.dispose]();
    await this.#capture[Symbol.asyncDispose]();
  }
}

/** Undefined: it is a question, or of something else. */
export function readAnswer({ at, text }: Packet): Answer | undefined {
  const [, mac, ...addresses] = CLAIM.exec(text) ?? [];
  const vip = addresses.join('');
  return mac === undefined ? undefined : { at, vip, mac };
}

/** One turn for each holder in their order shows that no two answered at the same time. */
export function turnsOf(answers: readonly Answer[], vip: string): Turn[] {
  const turns: { mac: string; from: number; to: number }[] = [];
  for (const answer of answers) {
    if (answer.vip !== vip) continue;
    const last = turns.at(-1);
    if (last?.mac === answer.mac) last.to = answer.at;
    else turns.push({ mac: answer.mac, from: answer.at, to: answer.at });
  }
  return turns;
}

/** The longest time in milliseconds between two answers. */
export function longestSilence(answers: readonly Answer[], vip: string): number {
  const times = answers.filter((answer) => answer.vip === vip).map(({ at }) => at);
  return Math.round(Math.max(0, ...times.slice(1).map((at, i) => at - (times[i] ?? at))));
}

class Asker implements Disposable {
  readonly #sockets: readonly PacketSocket[];
  readonly #timer: NodeJS.Timeout;

  private constructor(sockets: readonly PacketSocket[], ask: () => void) {
    this.#sockets = sockets;
    this.#timer = setInterval(ask, ASK_EVERY_MS);
  }

  static async start(host: Namespace, own: Dual, vips: readonly string[]): Promise<Asker> {
    const interfaceIndex = await host.index();
    const mac = must(parseMac(await host.mac()));
    const open = (protocol: typeof ETH_P_ARP | typeof ETH_P_IPV6) =>
      host.enter(() =>
        must(PacketSocket.open({ interfaceIndex, protocol, filter: NOTHING, onFrame: () => undefined })),
      );
    const arp = open(ETH_P_ARP);
    const ndp = open(ETH_P_IPV6);
    const questions = vips.map((vip) =>
      question(mac, must(parseIp(own.v4)), must(parseIp(own.v6)), must(parseIp(vip))),
    );
    return new Asker([arp, ndp], () => {
      for (const { version, frame } of questions) (version === 4 ? arp : ndp).send(frame);
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket[Symbol.dispose]();
  }
}

/** BPF that takes no frame: these sockets only send. */
const NOTHING = [[0x06, 0, 0, 0]] as const;

function question(mac: Mac, v4: Ip, v6: Ip, vip: Ip): { readonly version: 4 | 6; readonly frame: Uint8Array } {
  if (isV4(vip) && isV4(v4)) return { version: 4, frame: arpRequest(mac, v4, vip) };
  if (isV6(vip) && isV6(v6)) return { version: 6, frame: solicitation(mac, v6, vip) };
  throw new Error('the asking host has one address of each family');
}
