import type { Namespace } from './namespace.ts';

/** Seen from the host: what it sends, what it would receive. */
export type Direction = 'sent' | 'received';

const BOTH: readonly Direction[] = ['sent', 'received'];

/** A bridge in a namespace of its own; each attached host's port is named after the host. */
export class Lan {
  readonly bridge: Namespace;

  private constructor(bridge: Namespace) {
    this.bridge = bridge;
  }

  static async build(bridge: Namespace): Promise<Lan> {
    await bridge.ip('link add lan type bridge stp_state 0 forward_delay 0 mcast_snooping 0', 'link set lan up');
    await nft(
      bridge,
      'table bridge cut {',
      'set sent { type ifname; }',
      'set received { type ifname; }',
      'set between { type ifname . ifname; }',
      'chain forward { type filter hook forward priority 0; iifname @sent drop; oifname @received drop;',
      'iifname . oifname @between drop; }',
      'chain noise { type filter hook forward priority 1; }',
      '}',
    );
    return new Lan(bridge);
  }

  /** Gives `host` an interface on this LAN, by default `eth0`, up, with these addresses (`192.0.2.2/24`). */
  async attach(host: Namespace, addresses: readonly string[], device = 'eth0'): Promise<void> {
    const port = portOf(host, device);
    await this.bridge.ip(
      `link add ${port} type veth peer name ${device} netns ${host.path}`,
      `link set ${port} master lan up`,
    );
    await host.ip(`link set ${device} up`, ...addresses.map((address) => assign(address, device)));
  }

  /** Pulls the cable: the host's interface loses its carrier. */
  async unplug(host: Namespace, device?: string): Promise<void> {
    await this.bridge.ip(`link set ${portOf(host, device)} down`);
  }

  async plug(host: Namespace, device?: string): Promise<void> {
    await this.bridge.ip(`link set ${portOf(host, device)} up`);
  }

  /** The switch drops the host's frames; the host keeps its carrier and sees nothing but silence. */
  async block(host: Namespace, directions = BOTH, device?: string): Promise<void> {
    await nft(this.bridge, ...directions.map((set) => `add element bridge cut ${set} { ${portOf(host, device)} }`));
  }

  async unblock(host: Namespace, directions = BOTH, device?: string): Promise<void> {
    await this.block(host, directions, device);
    await nft(this.bridge, ...directions.map((set) => `delete element bridge cut ${set} { ${portOf(host, device)} }`));
  }

  /** The cable between two switches is pulled: hosts of one side hear nothing of the other. */
  async split(one: readonly Namespace[], other: readonly Namespace[]): Promise<void> {
    const pairs = one.flatMap((a) =>
      other.flatMap((b) => [`"${portOf(a)}" . "${portOf(b)}"`, `"${portOf(b)}" . "${portOf(a)}"`]),
    );
    await nft(this.bridge, `add element bridge cut between { ${pairs.join(', ')} }`);
  }

  async heal(): Promise<void> {
    await nft(this.bridge, 'flush set bridge cut between');
  }

  /** Of all frames, this share is lost from now on. */
  async lose(percent: number): Promise<void> {
    if (percent === 0) await nft(this.bridge, 'flush chain bridge cut noise');
    else await this.drop(`numgen random mod 100 < ${percent}`);
  }

  /** Loses what matches, by nftables' words, until `lose(0)`. */
  async drop(match: string): Promise<void> {
    await nft(this.bridge, 'flush chain bridge cut noise', `add rule bridge cut noise ${match} drop`);
  }
}

/** One line of `ip -batch`. */
export function assign(address: string, device: string): string {
  return `address add ${address} dev ${device}${address.includes(':') ? ' nodad' : ''}`;
}

function portOf(host: Namespace, device = 'eth0'): string {
  return device === 'eth0' ? host.name : `${host.name}-${device}`;
}

async function nft(bridge: Namespace, ...lines: readonly string[]): Promise<void> {
  await bridge.run(['nft', '-f', '-'], { input: lines.join('\n') });
}
