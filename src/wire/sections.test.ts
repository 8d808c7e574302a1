import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Table } from '../../net/table.ts';
import type { Sections, SectionUpdate } from './protocol.ts';
import { SectionReceiver, SectionSender } from './sections.ts';

type Row = Sections['vips'];
type Update = Extract<SectionUpdate, { section: 'vips' }>;
const row = (n: number) => ({ interface: `eth${n}` }) as unknown as Row;

/** Sender and receiver over a wire that a test opens and shuts. */
function pair() {
  const flying: Update[] = [];
  const sender = new SectionSender('vips', Table.empty<string, Row>(), (update) => flying.push(update));
  const receiver = new SectionReceiver<'vips'>();
  const deliver = () => {
    const update = flying.shift();
    if (update === undefined) return false;
    if (receiver.apply(update) === undefined) sender.onResend();
    else sender.onAcknowledge(update.generation);
    return true;
  };
  return { sender, receiver, deliver, flying };
}

test('whatever is set, and whenever it is delivered, the receiver ends with the last table', () => {
  const steps = fc.array(
    fc.oneof(
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(3)).map((rows) => ({ rows })),
      fc.constant('deliver' as const),
    ),
  );
  fc.assert(
    fc.property(steps, (list) => {
      const { sender, receiver, deliver, flying } = pair();
      let table = Table.empty<string, Row>();
      const rows = Array.from({ length: 4 }, (_, n) => row(n));
      for (const step of list) {
        if (step === 'deliver') deliver();
        else {
          const gone = [...table.keys()].map((key) => [key, undefined] as const);
          table = table.with(gone).with(Object.entries(step.rows).map(([key, n]) => [key, rows[n] as Row] as const));
          sender.set(table);
        }
        expect(flying.length).toBeLessThanOrEqual(1);
      }
      while (deliver());
      expect(receiver.rows).toEqual(new Map(table));
    }),
  );
});

test('a receiver that begins anew asks for the whole, and gets it', () => {
  const { sender, deliver, flying } = pair();
  const one = Table.from<string, Row>([['a', row(1)]]);
  sender.set(one);
  deliver();
  sender.set(one.set('b', row(2)));
  const fresh = new SectionReceiver<'vips'>();
  expect(fresh.apply(flying.shift() as Update)).toBeUndefined();
  sender.onResend();
  const whole = flying.shift() as Update;
  expect(whole.base).toBe(0);
  fresh.apply(whole);
  expect([...fresh.rows.keys()].sort()).toEqual(['a', 'b']);
});

test('an acknowledgement of something else changes nothing', () => {
  const { sender, flying } = pair();
  sender.set(Table.from<string, Row>([['a', row(1)]]));
  sender.onAcknowledge(99);
  sender.set(Table.from<string, Row>([['b', row(1)]]));
  expect(flying).toHaveLength(1);
});
