import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ForwardingEntry } from '../../src/decide/types.ts';
import { httpBackend, udpBackend } from '../harness/backends.ts';
import { askHttp, askUdp, fetchFrom } from '../harness/clients.ts';
import { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import { type Dual, type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import type { ProxiedService } from '../harness/service-proxy.ts';
import { applied, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

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

/** The VIP `x` of a family: each test has ports of its own on it. */
const VIPS = {
  v4: { a: '192.168.50.100', b: '192.168.50.101', bare: '192.168.50.102' },
  v6: { a: 'fd50::100', b: 'fd50::101', bare: 'fd50::102' },
} as const;
const FAMILIES = ['v4', 'v6'] as const;
type Family = (typeof FAMILIES)[number];

const PORT = {
  spread: 80,
  hairpin: 81,
  remote: 82,
  host: 83,
  hostRemote: 84,
  kept: 85,
  other: 8081,
  ownPort: 9000,
  sctp: 3868,
};

/** How packets get to endpoints, and what runs beside us. */
export interface Way {
  readonly mode: 'Endpoints' | 'ClusterIP';
  /** Gives each node a service proxy for these Services, and returns when it works. */
  readonly startProxy?: (lab: Lab, lan: NodeLan, services: readonly ProxiedService[]) => Promise<void>;
  /** Called when all is installed. */
  readonly installed?: (lan: NodeLan) => Promise<void>;
}

/** Declares the tests of every way of a packet to a VIP and back. */
export function checkForwarding(way: Way): void {
  let lab: Lab;
  let lan: NodeLan;
  let n1: Node;
  let n2: Node;
  let p11: Pod;
  let p12: Pod;
  let p21: Pod;

  // n1 is where the LAN finds the VIPs. Rules are on both nodes, as on every node of a cluster.
  beforeAll(async () => {
    lab = await Lab.open();
    lan = await nodeLan(lab, { nodes: 2, podsPerNode: 2 });
    [n1, n2] = lan.nodes as [Node, Node];
    [p11, p12] = n1.pods as [Pod, Pod];
    [p21] = n2.pods as [Pod];
    // The strictest setting that distributions have: a node must need no exception.
    for (const { namespace } of lan.nodes) namespace.sysctl({ 'ipv4.conf.all.rp_filter': 1 });
    for (const { namespace, v4, v6 } of [p11, p12, p21, n1, n2]) {
      await httpBackend(lab, namespace, 8080);
      await udpBackend(lab, namespace, 8080, [v4, v6]);
    }
    await httpBackend(lab, p12.namespace, 9090, 'other');
    const services = servicesOf({ n1, n2, p11, p12, p21 });
    await way.startProxy?.(lab, lan, Object.values(services));
    const entries = FAMILIES.flatMap((family) => entriesOf(family, services, way.mode));
    const wanted = plan(entries, [VIPS.v4.bare, VIPS.v6.bare]);
    await Promise.all(lan.nodes.map((node) => applied(forwardingOf(lab, node.namespace), wanted)));
    for (const vip of FAMILIES.flatMap((family) => Object.values(VIPS[family]))) {
      await pointAt(lan.client.namespace, vip, n1.namespace);
    }
    await way.installed?.(lan);
  });

  afterAll(() => lab[Symbol.asyncDispose]());

  const clients: Readonly<Record<string, () => Namespace>> = {
    'a LAN client': () => lan.client.namespace,
    'a pod on the announcing node': () => p12.namespace,
    'a pod on another node': () => p21.namespace,
    'a process of the announcing node': () => n1.namespace,
    'a process of another node': () => n2.namespace,
  };

  const protocols = { TCP: askHttp, UDP: askUdp } as const;

  describe.each(FAMILIES)('%s', (family) => {
    const vip = VIPS[family];

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

    test('an endpoint sees the node instead of the client', async () => {
      for (const ask of Object.values(protocols)) {
        const { client } = await ask(lan.client.namespace, vip.a, PORT.hairpin);
        expect(client).not.toBe(lan.client[family]);
      }
    });

    test.runIf(way.mode === 'Endpoints')(
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
      await n1.namespace.ip(`route add ${family === 'v4' ? '0.0.0.0/0' : '::/0'} via ${gateway}`);
      await using capture = await n2.namespace.capture(`host ${vip.bare}`);
      await expect(askHttp(lan.client.namespace, vip.bare, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      await expect(askUdp(lan.client.namespace, vip.bare, 444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      expect(await capture.stop()).toEqual([]);
    });
  });

  test('IPv6 extension headers do not hide the port', async () => {
    const argv = ['python3', '-c', ASK_WITH_OPTIONS, VIPS.v6.a, String(PORT.hairpin)];
    const { stdout } = await lan.client.namespace.run(argv);
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'p11', bytes: 5 });
  });
}

type Services = ReturnType<typeof servicesOf>;

function servicesOf({ n1, n2, p11, p12, p21 }: { n1: Node; n2: Node; p11: Pod; p12: Pod; p21: Pod }) {
  let count = 0;
  const service = (
    name: string,
    endpoints: readonly Dual[],
    protocols: ProxiedService['protocols'] = ['TCP', 'UDP'],
    targetPort = 8080,
  ): ProxiedService => {
    const number = ++count + 10;
    const clusterIP = { v4: `10.96.7.${number}`, v6: `fd96::7:${number}` };
    return { name, protocols, clusterIP, port: 8800, endpoints, targetPort };
  };
  return {
    spread: service('spread', [p11, p12, p21]),
    hairpin: service('hairpin', [p11]),
    remote: service('remote', [p21]),
    host: service('host', [n1]),
    hostremote: service('hostremote', [n2]),
    sctp: service('sctp', [p11], ['SCTP'], 3868),
    other: service('other', [p12], ['TCP'], 9090),
  };
}

function entriesOf(family: Family, services: Services, mode: Way['mode']): ForwardingEntry[] {
  const { a, b } = VIPS[family];
  const at = (address: Dual, port: number) => `[${address[family]}]:${port}`;
  const entries = (vip: string, port: number, service: ProxiedService, settings = {}): ForwardingEntry[] => {
    const { endpoints, targetPort, clusterIP } = service;
    const direct = endpoints.map((endpoint) => at(endpoint, targetPort));
    const targets = mode === 'Endpoints' ? direct : [at(clusterIP, service.port)];
    const relay = mode === 'ClusterIP' ? ({ relayed: true } as const) : {};
    return service.protocols.map((protocol) => entry(vip, protocol, port, targets, { ...settings, ...relay }));
  };
  return [
    ...entries(a, PORT.spread, services.spread),
    ...entries(b, PORT.spread, services.spread),
    ...entries(a, PORT.hairpin, services.hairpin),
    ...entries(b, PORT.hairpin, services.hairpin),
    ...entries(a, PORT.remote, services.remote),
    ...entries(a, PORT.host, services.host),
    ...entries(a, PORT.hostRemote, services.hostremote),
    ...(mode === 'Endpoints' ? entries(a, PORT.kept, services.hairpin, { keepClientAddress: true }) : []),
    ...entries(a, PORT.sctp, services.sctp),
    ...entries(a, PORT.other, services.other),
    ...entries(a, PORT.ownPort, { ...services.host, protocols: ['TCP'] }),
  ];
}
