import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Ip } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../net/names.ts';
import type { Prefix } from '../net/prefix.ts';
import { Table } from '../net/table.ts';
import { WireClient } from '../src/wire/client.ts';
import type { Segment, WireVip } from '../src/wire/protocol.ts';
import { run } from '../test/harness/command.ts';
import { eventually } from '../test/harness/eventually.ts';
import { Lab } from '../test/harness/lab.ts';
import type { Namespace } from '../test/harness/namespace.ts';

/** Time from an ARP request to its answer: the wire worker beside a C responder, idle and with the main thread stalled. */
const COUNT = 4000;
const INTERVAL_US = 500;
const STALL_MS = 500;
const REFERENCE = '192.168.50.99';
const VIP = '192.168.50.100' as Vip;

await using lab = await Lab.open();
const lan = await lab.lan('lan');
const client = await lab.host('client', lan, ['192.168.50.2/24']);
const reference = await lab.host('ref', lan, ['192.168.50.9/24']);
const node = await lab.host('node', lan, ['192.168.50.11/24']);
const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-'));
lab.defer(() => rm(folder, { recursive: true }));
const program = join(folder, 'arp');
await run(['gcc', '-O2', '-o', program, new URL('arp.c', import.meta.url).pathname]);
await reference.start([program, 'respond', 'eth0', REFERENCE]).line(/ready/);
const wire = await startWire(node);

const ask = async (ip: string) => {
  const { stdout } = await client.run([program, 'ask', 'eth0', ip, String(COUNT), String(INTERVAL_US)], {
    timeout: 60_000,
  });
  const [answered = 0, median = 0, p99 = 0, max = 0] = stdout.trim().split(' ').map(Number);
  return { answered, median, p99, max };
};

const c = await ask(REFERENCE);
const idle = await ask(VIP);
const stalling = setInterval(stall, STALL_MS * 2);
const stalled = await ask(VIP);
clearInterval(stalling);

console.log(`ARP request to answer, ${COUNT} requests each, microseconds\n`);
console.log('                              lost   median      p99      max   median of C');
for (const [name, found] of [
  ['C responder', c],
  ['wire worker, idle', idle],
  [`main stalled ${STALL_MS} ms`, stalled],
] as const) {
  const micro = (nanoseconds: number) => (nanoseconds / 1000).toFixed(1).padStart(8);
  const ratio = (found.median / c.median).toFixed(2);
  console.log(
    `${name.padEnd(28)} ${String(COUNT - found.answered).padStart(5)} ${micro(found.median)} ${micro(found.p99)} ${micro(found.max)}   ${ratio.padStart(11)}`,
  );
}
await wire.leave(AbortSignal.timeout(1000));

/** Blocks this thread, which is the main thread of the wire. */
function stall(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}

async function startWire(host: Namespace): Promise<WireClient> {
  const self = 'node' as NodeName;
  const eth0 = 'eth0' as InterfaceName;
  const address = '192.168.50.11' as Ip;
  const { stdout } = await host.run(['ip', '-j', 'link', 'show', 'dev', 'eth0']);
  const [{ ifindex: index, address: mac }] = JSON.parse(stdout) as [{ ifindex: number; address: Mac }];
  let answering = false;
  const made = host.enter(
    () =>
      new WireClient(
        {
          workerFile: pathToFileURL(resolve('dist/wire-worker.mjs')),
          self,
          cluster: 'bench',
          profile: 'default',
          witness: false,
          heartbeatPort: 7947,
          keys: [new Uint8Array(32)],
        },
        {
          onMessage(message) {
            answering ||= message.type === 'answering';
          },
          onExit(reason) {
            throw new Error(reason);
          },
        },
      ),
  );
  const networks = [{ ip: address, prefix: '192.168.50.0/24' as Prefix }];
  const segment: Segment = {
    interface: eth0,
    index,
    mac,
    carrier: true,
    address,
    networks,
    members: [{ node: self, address }],
    gateways: [],
  };
  const entry = {
    vip: VIP,
    fencing: 'Prefer',
    firstClaim: { kind: 'peers' },
    eligibility: { kind: 'eligible' },
    ready: true,
    preferredNodes: [],
    routeKey: 'bench',
  } as const;
  made.setSegments(Table.from([['eth0', segment]]));
  made.setVips(Table.from<string, WireVip>([[VIP, { interface: eth0, entry }]]));
  await eventually('the wire answers for the VIP', () => answering, Boolean, { within: 10_000 });
  return made;
}
