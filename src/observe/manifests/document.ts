import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { type Problem, problem } from '../../../net/result.ts';
import { identify, KINDS, type KnownObject } from '../../api/kinds.ts';
import { checkObject } from '../../api/validate.ts';

/** What one document says, wherever it stands: lines count from its own first. */
export interface Reading {
  readonly objects: readonly PlacedObject[];
  readonly problems: readonly PlacedProblem[];
}

export interface PlacedObject {
  readonly id: string;
  readonly object: KnownObject;
  readonly line: number;
}

export interface PlacedProblem extends Problem {
  readonly object: string;
  readonly line: number;
}

type Path = readonly (string | number)[];

/** Reads one YAML document; a `List`, as `kubectl get -o yaml` prints it, gives its items. */
export function readDocument(text: string): Reading {
  const counter = new LineCounter();
  let document: Document.Parsed;
  let value: unknown;
  try {
    document = parseDocument(text, { lineCounter: counter, merge: true });
    value = document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // The parser's stack or its limit of aliases is exhausted.
    return { objects: [], problems: [notYaml(error as Error, 1)] };
  }
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => notYaml(error, counter.linePos(error.pos[0]).line));
    return { objects: [], problems };
  }
  if (value === null || value === undefined) return { objects: [], problems: [] };
  return readValue(value, (path) => lineOf(document, path, counter));
}

function readValue(value: unknown, lineAt: (path: Path) => number): Reading {
  const objects: PlacedObject[] = [];
  const problems: PlacedProblem[] = [];
  for (const { item, path } of itemsOf(value)) {
    const checked = checkObject(item);
    if (checked.problem === undefined) {
      const object = withNamespace(checked.ok);
      objects.push({ id: identify(object), object, line: lineAt(path) });
      continue;
    }
    const title = titleOf(item);
    for (const each of checked.problem) {
      problems.push({ ...each, object: title, line: lineAt([...path, ...parsePath(each.field)]) });
    }
  }
  // Copies without the room to grow that an array keeps after a push: most documents hold one object.
  return { objects: objects.slice(), problems: problems.slice() };
}

function notYaml(error: Error, line: number): PlacedProblem {
  const [message = ''] = error.message.split(/ at line |\n/, 1);
  return { ...problem('', undefined, `is not YAML (${message})`, 'mend its syntax').problem, object: '', line };
}

function itemsOf(value: unknown): { readonly item: unknown; readonly path: Path }[] {
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  if (kind !== 'List' || !Array.isArray(items)) return [{ item: value, path: [] }];
  return items.map((item: unknown, index) => ({ item, path: ['items', index] }));
}

/** As kubectl does: an object without namespace is in `default`. */
function withNamespace(object: KnownObject): KnownObject {
  if (!KINDS[object.kind].namespaced || object.metadata.namespace !== undefined) return object;
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
}

function titleOf(item: unknown): string {
  const { kind, metadata } = (item ?? {}) as { kind?: unknown; metadata?: { name?: unknown; namespace?: unknown } };
  if (typeof kind !== 'string' || typeof metadata?.name !== 'string') return '';
  const namespace = typeof metadata.namespace === 'string' ? `${metadata.namespace}/` : '';
  return `${kind} ${namespace}${metadata.name}`;
}

/** `spec.rules[0].port` as the keys that lead there. */
function parsePath(field: string): Path {
  return Array.from(field.matchAll(/\[(\d+)\]|([^.[\]]+)/g), ([, index, key]) =>
    index === undefined ? (key ?? '') : Number(index),
  );
}

/** The line of a value, or of the nearest thing around it that is written. */
function lineOf(document: Document.Parsed, path: Path, counter: LineCounter): number {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return counter.linePos(node.range[0]).line;
  }
  return 1;
}
