import { createHash } from 'node:crypto';
import { type PlacedObject, type Reading, readDocument } from './document.ts';
import { fileProblem, type ManifestProblem } from './problem.ts';
import { splitDocuments } from './split.ts';

/** What a file says. */
export interface FileContents {
  /** Each with the line on which it begins. Objects beside a bad one are there all the same. */
  readonly objects: readonly PlacedObject[];
  readonly problems: readonly ManifestProblem[];
  /** By the digest of each document's text: what has been read once is not read again. */
  readonly readings: ReadonlyMap<string, Reading>;
}

const NO_READINGS: ReadonlyMap<string, Reading> = new Map();

/** A file that cannot be read. */
export function unreadable(file: string, why: string): FileContents {
  return wrong(fileProblem(file, `cannot be read (${why})`, 'give it back or delete it'));
}

function wrong(problem: ManifestProblem): FileContents {
  return { objects: [], problems: [problem], readings: NO_READINGS };
}

/**
 * Reads a file of YAML documents. Documents that stand in `before` too are not parsed again and give the same
 * objects, so that in a file of a thousand one edit is one change. A file without a byte is a truncated one, never
 * a wish to have no objects: that is a deleted file, or one that holds a comment.
 */
export function readFileText(file: string, text: string, before = NO_READINGS): FileContents {
  if (text.trim() === '') {
    return wrong(fileProblem(file, 'is empty', 'write its objects, or delete the file to remove them'));
  }
  const readings = new Map<string, Reading>();
  const objects = new Map<string, PlacedObject>();
  const problems: ManifestProblem[] = [];
  splitDocuments(text).forEach((document, index) => {
    const place = (line: number) => ({ file, line: document.line + line - 1, document: index + 1 });
    const digest = createHash('sha256').update(document.text).digest('base64');
    const reading = before.get(digest) ?? readings.get(digest) ?? readDocument(document.text);
    readings.set(digest, reading);
    for (const problem of reading.problems) problems.push({ ...problem, ...place(problem.line) });
    for (const placed of reading.objects) {
      const { line } = place(placed.line);
      const first = objects.get(placed.id);
      if (first === undefined) objects.set(placed.id, { ...placed, line });
      else problems.push({ ...duplicate(placed.id, `line ${first.line}`), ...place(placed.line) });
    }
  });
  return { objects: [...objects.values()], problems, readings };
}

/** An object that an earlier file, or an earlier document, gives already. */
export function duplicate(id: string, where: string) {
  return {
    object: id,
    field: 'metadata.name',
    value: undefined,
    message: `is given by ${where} already, which is the one in force`,
    fix: 'remove one of them',
  };
}
