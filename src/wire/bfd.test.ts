import { expect, test } from 'vitest';
import { ManualClock } from '../../net/clock.ts';
import type { Ip } from '../../net/ip.ts';
import { BfdSection, type BfdUpdate } from './bfd.ts';
import type { FromWire, Sections } from './protocol.ts';

const SPEC: Sections['bfd'] = {
  path: { remote: '192.0.2.1' as Ip, hops: 'single' },
  parameters: { desiredMinTx: 300_000, requiredMinRx: 300_000, detectMultiplier: 3 },
};

function section() {
  const posted: FromWire[] = [];
  const sent: Uint8Array[] = [];
  const nothing = { [Symbol.dispose]: () => undefined };
  const bfd = new BfdSection(
    {
      network: {
        listen: () => ({ ok: nothing }),
        open: () => ({ ok: { ...nothing, send: (packet) => void sent.push(packet) } }),
      },
      schedule: () => nothing,
      clock: new ManualClock(),
      random: () => 0.5,
    },
    (message) => posted.push(message),
  );
  const update = (base: number, change: Partial<BfdUpdate>): BfdUpdate => ({
    type: 'section',
    section: 'bfd',
    base,
    generation: base + 1,
    upserts: [],
    deletes: [],
    ...change,
  });
  return { bfd, posted, sent, update };
}

test('sessions follow the table, and a deleted one says AdminDown', () => {
  const { bfd, posted, sent, update } = section();
  bfd.receive(update(0, { upserts: [['tor', SPEC]] }));
  bfd.receive(update(1, { deletes: ['tor'] }));
  const states = sent.map((packet) => (packet[1] ?? 0) >>> 6);
  expect(states).toEqual([1, 0]);
  expect(posted).toEqual([
    { type: 'acknowledge', section: 'bfd', generation: 1 },
    { type: 'acknowledge', section: 'bfd', generation: 2 },
  ]);
  bfd.close();
});

test('a gap asks for the whole table', () => {
  const { bfd, posted, sent, update } = section();
  bfd.receive(update(7, { upserts: [['tor', SPEC]] }));
  expect(posted).toEqual([{ type: 'resend', section: 'bfd' }]);
  expect(sent).toEqual([]);
  bfd.close();
});
