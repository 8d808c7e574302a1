import { createSocket } from 'node:dgram';
import type { Ip } from '../../net/ip.ts';
import { ok } from '../../net/result.ts';
import { openUdpReceiver, UdpSender } from '../../sys/udp-socket.ts';
import { MULTI_HOP_PORT, SINGLE_HOP_PORT, TTL } from './constants.ts';
import type { Hops } from './table.ts';
import type { BfdNetwork } from './transport.ts';

const PORT: Readonly<Record<Hops, number>> = { single: SINGLE_HOP_PORT, multi: MULTI_HOP_PORT };

/** BFD over the UDP sockets of this network namespace. */
export const linuxNetwork: BfdNetwork = {
  listen(hops, family, onPacket) {
    const opened = openUdpReceiver({ family, port: PORT[hops], ...(hops === 'single' ? { ttl: TTL } : {}) });
    if (opened.problem !== undefined) return opened;
    const socket = createSocket(family === 'IPv4' ? 'udp4' : 'udp6');
    socket.on('message', (payload, { address }) => {
      const [source = '', device] = address.split('%');
      onPacket(payload, { source: source as Ip, ...(device === undefined ? {} : { interface: device }) });
    });
    // An ICMP error that a peer's host sent back: the session finds out by silence.
    socket.on('error', () => undefined);
    socket.bind({ fd: opened.ok });
    return ok({ [Symbol.dispose]: () => void socket.close() });
  },
  open(path, sourcePort) {
    return UdpSender.open({
      remote: path.remote,
      remotePort: PORT[path.hops],
      localPort: sourcePort,
      ttl: TTL,
      ...(path.local === undefined ? {} : { local: path.local }),
      ...(path.interface === undefined ? {} : { interface: path.interface }),
    });
  },
};
