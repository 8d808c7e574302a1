import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../test/harness/command.ts';
import { eventually } from '../test/harness/eventually.ts';
import type { Lab } from '../test/harness/lab.ts';
import type { Namespace } from '../test/harness/namespace.ts';
import { NODE, ROUTER } from '../test/interop/bgp-fixture.ts';

/** Starts a speaker in the node's place, ready to connect; the answer gives it its routes, by the quickest way it has. */
export type Rival = (lab: Lab, node: Namespace, prefixes: readonly string[]) => Promise<() => Promise<void>>;

export const RIVALS: Readonly<Record<string, Rival>> = { BIRD: bird, GoBGP: gobgp, ExaBGP: exabgp };

function folderOf(lab: Lab): string {
  const folder = mkdtempSync(join(tmpdir(), 'signpost-bench-'));
  lab.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A static protocol that is enabled at once. */
async function bird(lab: Lab, node: Namespace, prefixes: readonly string[]): Promise<() => Promise<void>> {
  const folder = folderOf(lab);
  const routes = prefixes.map((prefix) => `  route ${prefix} blackhole;`).join('\n');
  writeFileSync(
    `${folder}/bird.conf`,
    `router id ${NODE.v4};
protocol device {}
protocol static many { disabled; ipv4;
${routes}
}
protocol bgp sink {
  local ${NODE.v4} as ${NODE.asn};
  neighbor ${ROUTER.v4} as ${ROUTER.asn};
  hold time 9; connect delay time 1; connect retry time 1; enable extended messages off;
  ipv4 { import none; export all; next hop self; };
}
`,
  );
  const socket = `${folder}/bird.ctl`;
  node.start(['bird', '-f', '-c', `${folder}/bird.conf`, '-s', socket, '-P', `${folder}/bird.pid`]);
  const cli = (...words: string[]) => run(['birdc', '-s', socket, ...words]);
  await eventually('BIRD answers', () => cli('show', 'status'));
  return async () => {
    await cli('enable', 'many');
  };
}

/** Its CLI streams a table dump over gRPC. */
async function gobgp(lab: Lab, node: Namespace, prefixes: readonly string[]): Promise<() => Promise<void>> {
  const folder = folderOf(lab);
  writeFileSync(
    `${folder}/gobgpd.yaml`,
    `global: {config: {as: ${NODE.asn}, router-id: ${NODE.v4}, port: 179}}
neighbors:
  - config: {neighbor-address: ${ROUTER.v4}, peer-as: ${ROUTER.asn}}
    timers: {config: {connect-retry: 1, hold-time: 9, keepalive-interval: 3}}
`,
  );
  writeFileSync(`${folder}/routes.mrt`, tableDump(prefixes));
  node.start(['gobgpd', '-t', 'yaml', '-f', `${folder}/gobgpd.yaml`, '--api-hosts', '127.0.0.1:50051']);
  await eventually('GoBGP answers', () => node.run(['gobgp', 'neighbor']));
  return async () => {
    await node.run(['gobgp', 'mrt', 'inject', 'global', `${folder}/routes.mrt`], { timeout: 120_000 });
  };
}

/** Lines of its text API, as fast as it reads them. */
async function exabgp(lab: Lab, node: Namespace, prefixes: readonly string[]): Promise<() => Promise<void>> {
  const folder = folderOf(lab);
  const lines = prefixes.map((prefix) => `announce route ${prefix} next-hop self\n`).join('');
  writeFileSync(`${folder}/routes.txt`, lines);
  writeFileSync(
    `${folder}/feed.py`,
    `import os, sys, time
open('${folder}/ready', 'w').close()
while not os.path.exists('${folder}/go'): time.sleep(0.005)
for line in open('${folder}/routes.txt'):
    sys.stdout.write(line)
sys.stdout.flush()
time.sleep(600)
`,
  );
  writeFileSync(
    `${folder}/exabgp.conf`,
    `process feed { run /usr/bin/python3 ${folder}/feed.py; encoder text; }
neighbor ${ROUTER.v4} {
  router-id ${NODE.v4}; local-address ${NODE.v4}; local-as ${NODE.asn}; peer-as ${ROUTER.asn}; hold-time 60;
  family { ipv4 unicast; }
  api { processes [ feed ]; }
}
`,
  );
  node.start(['exabgp', `${folder}/exabgp.conf`], {
    ...process.env,
    'exabgp.daemon.user': 'root',
    'exabgp.api.cli': 'false',
    'exabgp.api.ack': 'false',
  });
  await eventually('ExaBGP is ready', () => existsSync(`${folder}/ready`));
  return () => writeFile(`${folder}/go`, '');
}

/** MRT TABLE_DUMP_V2 (RFC 6396 section 4.3) of one peer. */
function tableDump(prefixes: readonly string[]): Buffer {
  const now = Math.floor(Date.now() / 1000);
  const record = (subtype: number, body: Buffer): Buffer => {
    const header = Buffer.alloc(12);
    header.writeUInt32BE(now, 0);
    header.writeUInt16BE(13, 4);
    header.writeUInt16BE(subtype, 6);
    header.writeUInt32BE(body.length, 8);
    return Buffer.concat([header, body]);
  };
  const octets = (address: string): number[] => address.split('.').map(Number);
  // One peer with a four-octet AS number, without a view name.
  const peer = Buffer.from([
    ...octets(NODE.v4),
    0,
    0,
    0,
    1,
    2,
    ...octets(NODE.v4),
    ...octets(NODE.v4),
    0,
    0,
    0xfd,
    0xe9,
  ]);
  // ORIGIN IGP, an empty AS_PATH, NEXT_HOP.
  const attributes = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, ...octets(NODE.v4)];
  const routes = prefixes.map((prefix, sequence) => {
    const [address = '', length = ''] = prefix.split('/');
    const body = Buffer.from([
      ...[0, 0, 0, 0, Number(length), ...octets(address), 0, 1, 0, 0, 0, 0, 0, 0],
      ...[0, attributes.length, ...attributes],
    ]);
    body.writeUInt32BE(sequence, 0);
    return record(2, body);
  });
  // The CLI ends without waiting for the last of its stream: what is lost is only the last route once more.
  const tail = Array.from({ length: 2_000 }, () => routes.at(-1) ?? Buffer.alloc(0));
  return Buffer.concat([record(1, peer), ...routes, ...tail]);
}
