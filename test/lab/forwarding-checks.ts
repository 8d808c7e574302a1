import { beforeAll, describe, expect, test } from 'vitest';
import { askHttp, askUdp, fetchFrom } from '../harness/clients.ts';
import type { Namespace } from '../harness/namespace.ts';
import type { Node, NodeLan, Pod } from '../harness/nodes.ts';
import { FAMILIES, type Mode, PORT, type Stage, VIPS } from './forwarding-stage.ts';

const SEND_SCTP = `
import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
socket.socket(family, socket.SOCK_RAW, 132).sendto(bytes.fromhex(sys.argv[2]), (sys.argv[1], 0))
`;

/** A UDP datagram behind a destination options header (RFC 8200 section 4.6) of padding; prints the answer. */
const ASK_WITH_OPTIONS = `
import socket, sys
IPV6_DSTOPTS = 59
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, IPV6_DSTOPTS, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
s.settimeout(1.5)
s.connect((sys.argv[1], int(sys.argv[2])))
s.send(b'hello')
print(s.recv(1500).decode())
`;

/** An INIT chunk (RFC 9260 section 3.3.2) behind the common header, with its CRC32c: conntrack checks it. */
function sctpInit(from: number, to: number): Buffer {
  const packet = Buffer.alloc(32);
  packet.writeUInt16BE(from, 0);
  packet.writeUInt16BE(to, 2);
  packet.writeUInt8(1, 12);
  packet.writeUInt16BE(20, 14);
  packet.writeUInt32BE(0x01020304, 16);
  packet.writeUInt32BE(65_535, 20);
  packet.writeUInt16BE(1, 24);
  packet.writeUInt16BE(1, 26);
  packet.writeUInt32BE(1, 28);
  packet.writeUInt32LE(crc32c(packet), 8);
  return packet;
}

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Declares the tests of every way of a packet to a VIP and back. */
export function checkForwarding(mode: Mode, stage: () => Stage): void {
  let lan: NodeLan;
  let n1: Node;
  let n2: Node;
  let p11: Pod;
  let p12: Pod;
  let p21: Pod;

  beforeAll(() => {
    ({ lan, n1, n2, p11, p12, p21 } = stage());
  });

  const clients: Readonly<Record<string, () => Namespace>> = {
    'a LAN client': () => lan.client.namespace,
    'a pod on the announcing node': () => p12.namespace,
    'a pod on another node': () => p21.namespace,
    'a process of the announcing node': () => n1.namespace,
    'a process of another node': () => n2.namespace,
  };

  const protocols = { TCP: askHttp, UDP: askUdp } as const;

  describe.each(FAMILIES)('%s', (family) => {
    const vip = VIPS[mode][family];

    describe.each(Object.entries(clients))('%s', (_, client) => {
      test.each(Object.entries(protocols))('reaches every endpoint by %s', async (_protocol, ask) => {
        const answers = await Promise.all(Array.from({ length: 40 }, () => ask(client(), vip.a, PORT.spread)));
        expect(new Set(answers.map(({ backend }) => backend))).toEqual(new Set(['p11', 'p12', 'p21']));
      });

      test.each(Object.entries(protocols))(
        'reaches a node-network endpoint on either node by %s',
        async (_protocol, ask) => {
          expect(await ask(client(), vip.a, PORT.host)).toMatchObject({ backend: 'n1' });
          expect(await ask(client(), vip.a, PORT.hostRemote)).toMatchObject({ backend: 'n2' });
        },
      );

      test('pings the VIP, with ports or without', async () => {
        expect(await client().pings(vip.a)).toBe(true);
        expect(await client().pings(vip.bare)).toBe(true);
      });

      test('is refused at once where nothing is served', async () => {
        for (const address of [vip.a, vip.bare]) {
          await expect(askHttp(client(), address, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
          await expect(askUdp(client(), address, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
        }
      });

      test('gets datagrams of several fragments through and back', async () => {
        const body = Buffer.alloc(5_000, 'f');
        expect(await askUdp(client(), vip.a, PORT.hairpin, { body })).toMatchObject({ backend: 'p11', bytes: 5_000 });
        expect(await askUdp(client(), vip.a, PORT.remote, { body })).toMatchObject({ backend: 'p21', bytes: 5_000 });
      });
    });

    test.each(Object.entries(protocols))('a pod reaches itself through the VIP by %s', async (_, ask) => {
      expect(await ask(p11.namespace, vip.a, PORT.hairpin)).toMatchObject({ backend: 'p11' });
    });

    test('two VIPs serve one Service', async () => {
      expect(await askHttp(lan.client.namespace, vip.b, PORT.spread)).toHaveProperty('backend');
      expect(await askUdp(p21.namespace, vip.b, PORT.spread)).toHaveProperty('backend');
    });

    test('two ports of one VIP serve two Services', async () => {
      expect(await askHttp(lan.client.namespace, vip.a, PORT.other)).toMatchObject({ backend: 'other' });
      expect(await askHttp(lan.client.namespace, vip.a, PORT.hairpin)).toMatchObject({ backend: 'p11' });
    });

    test('a VIP carries a port that the node itself uses, to another one', async () => {
      expect(await askHttp(lan.client.namespace, vip.a, PORT.ownPort)).toMatchObject({ backend: 'n1' });
    });

    test('SCTP is translated', async () => {
      await using capture = await p11.namespace.capture('sctp');
      const packet = sctpInit(40_000, PORT.sctp).toString('hex');
      await lan.client.namespace.run(['python3', '-c', SEND_SCTP, vip.a, packet]);
      const [seen] = await capture.stop();
      expect(seen?.text).toContain(`> ${p11[family]}.3868: sctp`);
    });

    test('an endpoint sees the node instead of the client, or with Direct the client', async () => {
      for (const ask of Object.values(protocols)) {
        for (const port of [PORT.hairpin, PORT.remote]) {
          const whole = await ask(lan.client.namespace, vip.a, port);
          const inFragments = await ask(lan.client.namespace, vip.a, port, { body: Buffer.alloc(5_000, 'f') });
          for (const { client } of [whole, inFragments]) expect(client === lan.client[family]).toBe(mode === 'Direct');
        }
      }
    });

    test.runIf(mode !== 'ClusterIP')(
      'with the client address kept, only LAN clients are seen as they are',
      async () => {
        for (const ask of Object.values(protocols)) {
          expect(await ask(lan.client.namespace, vip.a, PORT.kept)).toMatchObject({ client: lan.client[family] });
          expect((await ask(p12.namespace, vip.a, PORT.kept)).client).not.toBe(p12[family]);
          expect((await ask(p11.namespace, vip.a, PORT.kept)).backend).toBe('p11');
        }
      },
    );

    describe('path MTU of 1,300', () => {
      const bits = family === 'v4' ? 32 : 128;

      test('towards the pod: uploads get through', async () => {
        await narrow(`${p11[family]}/${bits} dev cni0`, async () => {
          const body = Buffer.alloc(300_000, 'u');
          expect(await askHttp(lan.client.namespace, vip.a, PORT.hairpin, { body })).toMatchObject({ bytes: 300_000 });
        });
      });

      test('towards the client: downloads get through', async () => {
        await narrow(`${lan.client[family]}/${bits} dev eth0`, async () => {
          // Not the VIP of the upload: the client remembers its path and would ask for small segments.
          const path = '/bytes/300000';
          expect(await fetchFrom(lan.client.namespace, vip.b, PORT.hairpin, { path })).toHaveLength(300_000);
        });
      });

      /** The ICMP error that tells of the narrow path must have been needed, or the test shows nothing. */
      async function narrow(route: string, work: () => Promise<void>): Promise<void> {
        const filter = family === 'v4' ? 'icmp[0] == 3 and icmp[1] == 4' : 'icmp6 and ip6[40] == 2';
        // What was learnt of the path before would spare the error.
        const flush = ['ip', family === 'v4' ? '-4' : '-6', 'route', 'flush', 'cache'];
        for (const { namespace } of [p11, lan.client]) await namespace.run(flush);
        await n1.namespace.ip(`route add ${route} mtu lock 1300`);
        try {
          await using capture = await n1.namespace.capture(filter, 'any');
          await work();
          expect((await capture.stop()).length).toBeGreaterThan(0);
        } finally {
          await n1.namespace.ip(`route del ${route}`);
        }
      }
    });

    test('nothing that has no route is forwarded', async () => {
      const gateway = lan.nodes[1]?.[family];
      const out = `${family === 'v4' ? '0.0.0.0/0' : '::/0'} via ${gateway}`;
      await n1.namespace.ip(`route add ${out}`);
      await using capture = await n2.namespace.capture(`host ${vip.bare}`);
      await expect(askHttp(lan.client.namespace, vip.bare, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      await expect(askUdp(lan.client.namespace, vip.bare, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      expect(await capture.stop()).toEqual([]);
      await n1.namespace.ip(`route del ${out}`);
    });
  });

  test('IPv6 extension headers do not hide the port', async () => {
    const argv = ['python3', '-c', ASK_WITH_OPTIONS, VIPS[mode].v6.a, String(PORT.hairpin)];
    const { stdout } = await lan.client.namespace.run(argv);
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'p11', bytes: 5 });
  });
}
