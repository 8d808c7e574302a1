import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Inventory, type RawChange, type RawObject } from './inventory.ts';

const object = (name: string, resourceVersion: number, namespace?: string): RawObject => ({
  metadata: {
    name,
    uid: name,
    resourceVersion: String(resourceVersion),
    ...(namespace === undefined ? {} : { namespace }),
  },
});

test('tells of what is new and says nothing of what is known', () => {
  const inventory = new Inventory();
  expect(inventory.put(object('a', 1, 'ns'))).toEqual([{ key: 'ns/a', object: object('a', 1, 'ns') }]);
  expect(inventory.put(object('a', 1, 'ns'))).toEqual([]);
  expect(inventory.put(object('a', 2, 'ns'))).toHaveLength(1);
  expect(inventory.remove(object('a', 3, 'ns'))).toEqual([{ key: 'ns/a', object: undefined }]);
  expect(inventory.remove(object('a', 3, 'ns'))).toEqual([]);
});

test('takes nothing back until the whole list is there', () => {
  const inventory = new Inventory();
  inventory.put(object('a', 1));
  inventory.put(object('b', 2));
  inventory.beginList();
  expect(inventory.list([object('b', 2)])).toEqual([]);
  expect(inventory.endList()).toEqual([{ key: 'a', object: undefined }]);
});

test('a list that broke off does not count for the next', () => {
  const inventory = new Inventory();
  inventory.put(object('a', 1));
  inventory.beginList();
  inventory.list([object('a', 1)]);
  inventory.beginList();
  expect(inventory.endList()).toEqual([{ key: 'a', object: undefined }]);
});

test('after a server was set back every object is told again', () => {
  const inventory = new Inventory();
  inventory.put(object('a', 7));
  inventory.distrust();
  inventory.beginList();
  expect(inventory.list([object('a', 7)])).toHaveLength(1);
  expect(inventory.endList()).toEqual([]);
});

test('whatever the lists, the changes add up to the last of them', () => {
  const list = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), version: fc.nat(3) }), {
    selector: ({ name }) => name,
  });
  fc.assert(
    fc.property(fc.array(list), (lists) => {
      const inventory = new Inventory();
      const told = new Map<string, RawObject>();
      const follow = (changes: RawChange[]) => {
        for (const { key, object } of changes) {
          if (object === undefined) expect(told.delete(key)).toBe(true);
          else told.set(key, object);
        }
      };
      for (const items of lists) {
        inventory.beginList();
        const objects = items.map(({ name, version }) => object(name, version));
        for (const item of objects) follow(inventory.list([item]));
        follow(inventory.endList());
        expect(told).toEqual(new Map(objects.map((item) => [item.metadata.name, item])));
      }
    }),
  );
});
