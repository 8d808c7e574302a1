import { gratuitousArp } from '../../arp/index.ts';
import { parseIpV4 } from '../../net/ip.ts';
import { parseMac } from '../../net/mac.ts';
import { must } from '../../net/result.ts';
import { acceptUntagged } from '../../sys/bpf.ts';
import { ETH_P_ARP, PacketSocket } from '../../sys/packet-socket.ts';
import type { Namespace } from './namespace.ts';

/** ARP of one host by hand. */
export async function rawArp(host: Namespace, onFrame: (frame: Uint8Array) => void): Promise<PacketSocket> {
  const interfaceIndex = await host.index();
  const filter = acceptUntagged([{ load: 'u16', offset: 12, values: [ETH_P_ARP] }]);
  return host.enter(() => must(PacketSocket.open({ interfaceIndex, protocol: ETH_P_ARP, filter, onFrame })));
}

/** The host says once to all that it has the address. */
export async function claimByArp(host: Namespace, address: string): Promise<void> {
  using socket = await rawArp(host, () => undefined);
  socket.send(gratuitousArp('request', must(parseMac(await host.mac())), must(parseIpV4(address))));
}
