import { createSocket } from 'node:dgram';
import { describe, expect, test } from 'vitest';
import type { Ip } from '../net/ip.ts';
import { must } from '../net/result.ts';
import { openUdpReceiver, UdpSender } from './udp-socket.ts';

describe.each([
  ['IPv4', '127.0.0.1', 'udp4'],
  ['IPv6', '::1', 'udp6'],
] as const)('%s', (family, loopback, type) => {
  test('only packets of the wanted TTL arrive', async () => {
    const receiver = createSocket(type);
    receiver.bind({ fd: must(openUdpReceiver({ family, port: 0, ttl: 255 })) });
    const { port } = receiver.address();
    const heard: string[] = [];
    receiver.on('message', (message) => heard.push(message.toString()));
    for (const ttl of [254, 255, 1, 255]) {
      using sender = must(UdpSender.open({ remote: loopback as Ip, remotePort: port, localPort: 0, ttl }));
      expect(sender.send(Buffer.from(`TTL ${ttl}`))).toBe(true);
    }
    await expect.poll(() => heard).toEqual(['TTL 255', 'TTL 255']);
    receiver.close();
  });

  test('a port that is taken is named', () => {
    using first = must(UdpSender.open({ remote: loopback as Ip, remotePort: 9, localPort: 48_911, ttl: 255 }));
    expect(first.send(Buffer.from('x'))).toBe(true);
    const second = UdpSender.open({ remote: loopback as Ip, remotePort: 9, localPort: 48_911, ttl: 255 });
    expect(second.problem).toMatchObject({ field: 'bind(UDP port 48911)', value: 'EADDRINUSE' });
  });
});

test('an interface that does not exist is a problem', () => {
  const opened = UdpSender.open({
    remote: 'fe80::1' as Ip,
    remotePort: 9,
    localPort: 0,
    interface: 'no-such0',
    ttl: 255,
  });
  expect(opened.problem).toMatchObject({ field: 'interface', value: 'no-such0' });
});
