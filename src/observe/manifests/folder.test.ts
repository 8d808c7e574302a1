import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileText } from './file.ts';
import { Folder, REMOVAL_GRACE_MS } from './folder.ts';
import { formatManifestProblem } from './problem.ts';

const namespace = (name: string, label = '') =>
  `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${name}, labels: { tier: "${label}" } }\n`;
const file = (...documents: string[]) => documents.join('---\n');

/** A folder of Namespaces whose outcome is read as `name=label`. */
class Fixture {
  readonly folder = new Folder();
  readonly inForce = new Map<string, string>();

  write(name: string, text: string, now = 0): string[] {
    return this.#apply(this.folder.update(name, readFileText(name, text), now));
  }

  remove(name: string, now = 0): string[] {
    return this.#apply(this.folder.remove(name, now));
  }

  expire(now: number): string[] {
    return this.#apply(this.folder.expire(now));
  }

  problems(): string[] {
    return this.folder.problems().map(formatManifestProblem);
  }

  #apply(changes: ReturnType<Folder['expire']>): string[] {
    for (const { id, object } of changes) {
      if (object === undefined) this.inForce.delete(id);
      else this.inForce.set(id, object.metadata.labels?.['tier'] ?? '');
    }
    return changes.map(({ id, object }) => `${object === undefined ? '-' : '+'}${id.replace('Namespace ', '')}`);
  }
}

describe('a file', () => {
  test('gives what is new and what changed, and nothing else', () => {
    const fixture = new Fixture();
    expect(fixture.write('a', file(namespace('x'), namespace('y')))).toEqual(['+x', '+y']);
    expect(fixture.write('a', file(namespace('x', 'new'), namespace('y')))).toEqual(['+x']);
    expect(fixture.write('a', file('# moved\n', namespace('y'), namespace('x', 'new')))).toEqual([]);
  });

  test('that no longer names an object lets it go after the grace', () => {
    const fixture = new Fixture();
    fixture.write('a', file(namespace('x'), namespace('y')));
    expect(fixture.write('a', namespace('x'), 1000)).toEqual([]);
    expect(fixture.folder.nextExpiry()).toBe(1000 + REMOVAL_GRACE_MS);
    expect(fixture.write('a', namespace('x', 'new'), 1400)).toEqual(['+x']);
    expect(fixture.expire(1000 + REMOVAL_GRACE_MS)).toEqual(['-y']);
    expect(fixture.folder.nextExpiry()).toBeUndefined();
  });

  test('that is deleted and restored within the grace changes nothing', () => {
    const fixture = new Fixture();
    fixture.write('a', namespace('x'));
    expect(fixture.remove('a', 1000)).toEqual([]);
    expect(fixture.write('a', namespace('x'), 1200)).toEqual([]);
    expect(fixture.expire(9000)).toEqual([]);
  });

  test.each([
    ['garbage', 'kind: [\n'],
    ['an empty one', ''],
  ])('replaced by %s leaves what it gave in force until it is right again', (_what, text) => {
    const fixture = new Fixture();
    fixture.write('a', file(namespace('x'), namespace('y')));
    expect(fixture.write('a', text, 1000)).toEqual([]);
    expect(fixture.problems()).toHaveLength(1);
    expect(fixture.expire(1e9)).toEqual([]);
    expect(fixture.write('a', namespace('x', 'new'), 1e9)).toEqual(['+x']);
    expect(fixture.problems()).toEqual([]);
    expect(fixture.expire(2e9)).toEqual(['-y']);
  });

  test('with one wrong document gives what it newly says rightly and removes nothing', () => {
    const fixture = new Fixture();
    fixture.write('a', file(namespace('x'), namespace('y')));
    expect(fixture.write('a', file(namespace('x', 'new'), namespace('Y'), namespace('z')))).toEqual(['+x', '+z']);
    expect(fixture.expire(1e9)).toEqual([]);
    expect([...fixture.inForce.keys()]).toEqual(['Namespace x', 'Namespace y', 'Namespace z']);
  });
});

describe('several files', () => {
  test('that give one object: the first in name order has it, the other is told', () => {
    const fixture = new Fixture();
    expect(fixture.write('b', namespace('x', 'b'))).toEqual(['+x']);
    expect(fixture.write('a', namespace('x', 'a'))).toEqual(['+x']);
    expect(fixture.write('c', namespace('x', 'c'))).toEqual([]);
    expect(fixture.inForce.get('Namespace x')).toBe('a');
    expect(fixture.problems()).toEqual(
      ['b', 'c'].map(
        (name) =>
          `${name}:1: Namespace x: metadata.name: is given by a already, which is the one in force; remove one of them`,
      ),
    );
  });

  test('the next has the object at once when the first is deleted', () => {
    const fixture = new Fixture();
    fixture.write('a', namespace('x', 'a'));
    fixture.write('b', namespace('x', 'b'));
    expect(fixture.remove('a', 1000)).toEqual(['+x']);
    expect(fixture.inForce.get('Namespace x')).toBe('b');
    expect(fixture.problems()).toEqual([]);
    expect(fixture.expire(1e9)).toEqual([]);
  });

  test('between which an object moves change nothing', () => {
    const fixture = new Fixture();
    fixture.write('a', namespace('x'));
    expect(fixture.remove('a', 1000)).toEqual([]);
    expect(fixture.write('z', namespace('x'), 1010)).toEqual([]);
    expect(fixture.expire(1e9)).toEqual([]);
    expect(fixture.inForce.size).toBe(1);
  });
});

test('the order of edits to different files does not matter, nor does any history once its grace is over', () => {
  const names = fc.constantFrom('a', 'b', 'c');
  const contents = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(names, contents), { maxLength: 12 }), (edits) => {
      const played = new Fixture();
      const last = new Map<string, string[]>();
      edits.forEach(([name, given], index) => {
        played.write(name, `# ${name}\n---\n${file(...given.map((each) => namespace(each, name)))}`, index);
        last.set(name, given);
      });
      played.expire(1e6);
      const fresh = new Fixture();
      for (const [name, given] of last)
        fresh.write(name, `#\n---\n${file(...given.map((each) => namespace(each, name)))}`);
      expect(new Map([...played.inForce].sort())).toEqual(new Map([...fresh.inForce].sort()));
      expect(played.problems().length).toBe(fresh.problems().length);
    }),
  );
});
