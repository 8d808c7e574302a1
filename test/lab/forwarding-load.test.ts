import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { tcpBackend } from '../harness/backends.ts';
import { EchoConnection } from '../harness/clients.ts';
import { Lab } from '../harness/lab.ts';
import { ManifestFolder, pool, route, rule, service } from '../harness/manifests.ts';
import { type Node, nodeLan, type Pod } from '../harness/nodes.ts';
import { serviceProxy } from '../harness/service-proxy.ts';
import { makeKeyFile, programmed, Speaker } from '../harness/speaker.ts';

const VIP = '192.168.50.100';
const CLUSTER_IP = { v4: '10.96.7.1', v6: 'fd96::7:1' };
const CONNECTIONS = 2_000;
/** In ClusterIP mode all share the 64,512 source ports of one node and ClusterIP, and are tracked three times. */
const FLOWS = { Endpoints: 60_000, ClusterIP: 30_000 };

/** New flows, each one datagram from another address or port, as fast as they go; prints how many a second. */
const NEW_FLOWS = `
import socket, struct, sys, time
to, port, count, pace = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
destination = socket.inet_aton(to)
started = time.monotonic()
working = 0
for i in range(count):
    source = socket.inet_aton('192.168.50.%d' % (200 + i // 60000))
    s.sendto(struct.pack('!BBHHHBBH4s4sHHHHx', 0x45, 0, 29, 0, 0, 64, 17, 0, source, destination, 1024 + i % 60000, port, 9, 0), (to, 0))
    if i % 1000 == 999:
        working += time.monotonic() - started
        time.sleep(pace)
        started = time.monotonic()
print(round(count / working))
`;

/** Datagrams that came to the pods on a port, whether or not anybody listens. */
const COUNT =
  'table inet count { chain in { type filter hook prerouting priority -300; udp dport 5353 counter drop; }; }';

test.each(['Endpoints', 'ClusterIP'] as const)(
  '%s: nothing is lost nor reset while endpoints, weights and rules change and the daemon is killed',
  async (forwarding) => {
    const flows = FLOWS[forwarding];
    await using lab = await Lab.open();
    const { client, nodes } = await nodeLan(lab, { nodes: 1, podsPerNode: 3 });
    const node = nodes[0] as Node;
    const pods = node.pods as [Pod, Pod, Pod];
    await Promise.all(pods.map(({ namespace }) => tcpBackend(lab, namespace, 7)));
    for (const { namespace } of pods) await namespace.run(['nft', COUNT]);
    const proxied = { name: 'web', clusterIP: CLUSTER_IP, endpoints: pods };
    await serviceProxy(node, [
      { ...proxied, protocols: ['TCP'], port: 7, targetPort: 7 },
      { ...proxied, name: 'dns', protocols: ['UDP'], port: 53, targetPort: 5353 },
    ]);
    const manifests = await ManifestFolder.make(lab);
    const ports = [
      { name: 'echo', port: 7, targetPort: 7 },
      { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 } as const,
    ];
    /** Endpoints, weights and rules come and go; every pod goes on serving. */
    const change = async (version: number) => {
      const shown = pods.filter((_, i) => version % 3 !== i);
      await manifests.write('web.yaml', ...service('web', ports, shown, { clusterIPs: [CLUSTER_IP.v4] }));
      await manifests.write('more.yaml', ...service('more', ports, pods, { clusterIPs: [CLUSTER_IP.v4] }));
      const rules = [rule('echo', 'TCP', 7, 'web'), rule('dns', 'UDP', 53, 'web')].map((one) => ({
        ...one,
        backendRefs: ['web', 'more'].map((name, i) => ({
          name,
          port: one['port'],
          weight: 1 + ((version + i) % 3),
        })),
      }));
      const others = Array.from({ length: version % 5 }, (_, i) => rule(`r${i}`, 'TCP', 9_000 + i, 'web', 7));
      await manifests.write('route.yaml', route('web', [...rules, ...others], { addresses: [VIP], forwarding }));
    };
    await manifests.write('pool.yaml', pool('public', [VIP]));
    await change(0);
    // The mount namespace of the node, in which the private namespace outlives the daemon as on a host.
    const host = node.namespace.start([
      'unshare',
      '-m',
      'sh',
      '-c',
      'mount -t tmpfs netns /run/netns && echo up && exec sleep inf',
    ]);
    await host.line(/up/);
    const speaker = await Speaker.start(lab, node, {
      manifests,
      peers: nodes,
      keyFile: await makeKeyFile(lab),
      through: ['nsenter', `--mount=/proc/${host.pid}/ns/mnt`],
    });
    await programmed(speaker);

    const open: EchoConnection[] = [];
    for (let i = 0; i < CONNECTIONS; i += 100) {
      const some = Array.from({ length: 100 }, () => EchoConnection.open(client.namespace, VIP, 7, 10_000));
      open.push(...(await Promise.all(some)));
    }
    let running = true;
    const count = { exchanges: 0, failures: [] as unknown[] };
    const talk = async (connection: EchoConnection) => {
      while (running) {
        await connection.exchange('still here', 20_000).then(
          () => count.exchanges++,
          (error: unknown) => count.failures.push(error),
        );
        await sleep(1_000);
      }
    };
    const talks = open.map(talk);
    const sender = client.namespace.run(['python3', '-c', NEW_FLOWS, VIP, '53', String(flows), '0.1']);
    let versions = 0;
    const phase = { sending: true };
    void sender.finally(() => {
      phase.sending = false;
    });
    while (phase.sending || versions < 12) {
      await change(++versions);
      await sleep(250);
      if (versions % 6 === 0) {
        await speaker.stop('SIGKILL');
        speaker.restart();
      }
    }
    const rate = Number((await sender).stdout);
    running = false;
    await Promise.all(talks);
    for (const connection of open) connection.close();
    let arrived = 0;
    for (const { namespace } of pods) {
      const { stdout } = await namespace.run(['nft', 'list', 'chain', 'inet', 'count', 'in']);
      arrived += Number(/counter packets (\d+)/.exec(stdout)?.[1]);
    }
    console.log(
      `${forwarding}: ${CONNECTIONS} connections, ${count.exchanges} exchanges, ${count.failures.length} lost or reset; ` +
        `${flows} new UDP flows at ${rate}/s, ${flows - arrived} lost; ${versions} changes, ${Math.floor(versions / 6)} SIGKILLs`,
    );
    expect(count.failures).toEqual([]);
    expect(arrived).toBe(flows);
    expect(count.exchanges).toBeGreaterThan(CONNECTIONS);
  },
  120_000,
);
