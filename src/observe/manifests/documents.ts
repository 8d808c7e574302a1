import { isMap, LineCounter, parseAllDocuments } from 'yaml';
import { formatProblem } from '../../../net/result.ts';
import { KINDS, type KnownObject } from '../../api/kinds.ts';
import { checkObject } from '../../api/validate.ts';

export interface FileContents {
  readonly objects: readonly KnownObject[];
  /** One line each, with file, line and object. Objects beside a bad one are there all the same. */
  readonly problems: readonly string[];
}

/** More than any person writes; a file of aliases that unfold without end stays below it too. */
const MAX_BYTES = 16 << 20;

/** Reads one file of YAML documents; a `List` gives its items. */
export function readDocuments(file: string, text: string): FileContents {
  if (text.length > MAX_BYTES) return { objects: [], problems: [`${file}: is larger than 16 MiB; split it`] };
  if (text.trim() === '')
    return { objects: [], problems: [`${file}: is empty; delete the file to remove its objects`] };
  const lines = new LineCounter();
  const objects: KnownObject[] = [];
  const problems: string[] = [];
  const parsed = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: true });
  const documents = Array.isArray(parsed) ? parsed : [];
  documents.forEach((document, index) => {
    const { line } = lines.linePos(document.range[0]);
    const where = `${file}:${line}${documents.length > 1 ? ` (document ${index + 1})` : ''}`;
    for (const error of document.errors)
      problems.push(`${where}: is not YAML: ${error.message.split('\n', 1).join('')}`);
    if (document.errors.length > 0 || document.contents === null) return;
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      problems.push(`${where}: is not YAML: ${(error as Error).message}`);
      return;
    }
    for (const item of isMap(document.contents) ? itemsOf(value) : [value]) {
      const checked = checkObject(item);
      if (checked.problem === undefined) objects.push(withNamespace(checked.ok));
      else for (const problem of checked.problem) problems.push(`${where}: ${titleOf(item)}${formatProblem(problem)}`);
    }
  });
  return { objects, problems };
}

function itemsOf(value: unknown): readonly unknown[] {
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  return kind === 'List' && Array.isArray(items) ? items : [value];
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
  return `${kind} ${namespace}${metadata.name}: `;
}
