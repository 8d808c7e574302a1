import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Each prints ratios against a named reference in one run. They run alone, one after another. */
const BENCHES = [
  'arp',
  'daemon',
  'forwarding',
  'direct',
  'cluster-ip',
  'election',
  'bgp-encode',
  'kubernetes',
  'bgp',
] as const;

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(BENCHES as readonly string[]).includes(name));
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(' ')}; there are ${BENCHES.join(', ')}`);
  process.exit(2);
}
let failed = 0;
for (const name of asked.length > 0 ? asked : BENCHES) {
  console.log(`== ${name}\n`);
  const { status } = spawnSync('npx', ['tsx', resolve(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' });
  if (status !== 0) failed++;
}
process.exit(failed > 0 ? 1 : 0);
