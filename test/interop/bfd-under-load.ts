/**
 * `node --import tsx bfd-under-load.ts REMOTE LOCAL`: the wire with one BFD session of 50 ms x 3, and a main thread
 * that stands still for 1 s of every 3. Prints each BFD event as a line of JSON.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionSpec } from '../../bgp/bfd/speaker.ts';
import type { Ip } from '../../net/ip.ts';
import type { NodeName } from '../../net/names.ts';
import { Table } from '../../net/table.ts';
import { WireClient } from '../../src/wire/client.ts';

const [remote = '', local = ''] = process.argv.slice(2);

const wire = new WireClient(
  {
    workerFile: new URL('../../dist/wire-worker.mjs', import.meta.url),
    self: 'n1' as NodeName,
    cluster: 'test',
    profile: 'default',
    witness: true,
    heartbeatPort: 7947,
    keys: [randomBytes(32)],
  },
  {
    onMessage: (message) => {
      if (message.type === 'bfd') console.log(JSON.stringify(message.event));
    },
    onExit: (reason) => {
      console.error(reason);
      process.exit(70);
    },
  },
);

const session: SessionSpec = {
  path: { remote: remote as Ip, local: local as Ip, hops: 'single' },
  parameters: { desiredMinTx: 50_000, requiredMinRx: 50_000, detectMultiplier: 3 },
};
wire.setBfd(Table.from([['router', session]]));

for (;;) {
  await sleep(2_000);
  const end = performance.now() + 1_000;
  while (performance.now() < end);
}
