import { stat } from 'node:fs/promises';
import { type FileContents, readFileText, unreadable } from '../observe/manifests/file.ts';
import { Folder } from '../observe/manifests/folder.ts';
import { fileProblem, formatManifestProblem, type ManifestProblem } from '../observe/manifests/problem.ts';
import { readText, scanTree } from '../observe/manifests/scan.ts';
import { crossCheck } from './cross-check.ts';
import { EXIT } from './exit-codes.ts';
import { type Output, paint } from './output.ts';

export interface ValidateOptions {
  readonly format: 'table' | 'json';
  /** Everything on standard input, for the path `-`. */
  readonly readStdin: () => Promise<string>;
}

interface Verdict {
  readonly files: number;
  readonly objects: number;
  readonly problems: readonly ManifestProblem[];
}

/** Checks files, folders and standard input (`-`) together. @returns 0, or 1 with every problem listed. */
export async function validate(paths: readonly string[], options: ValidateOptions, output: Output): Promise<number> {
  const read: [string, FileContents][] = [];
  for (const path of paths) read.push(...(await readPath(path, options.readStdin)));
  const verdict = judge(new Map(read));
  output.out(options.format === 'json' ? `${JSON.stringify(verdict, null, 2)}\n` : inWords(verdict, output));
  return verdict.problems.length === 0 ? EXIT.ok : EXIT.failed;
}

async function readPath(path: string, readStdin: () => Promise<string>): Promise<[string, FileContents][]> {
  if (path === '-') return [['-', readFileText('-', await readStdin())]];
  const stats = await stat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return [[path, await readFile(path)]];
  const { files } = await scanTree(path).catch(() => ({ files: [] }));
  if (files.length > 0) return Promise.all(files.map(async (file) => [file, await readFile(file)]));
  const none = fileProblem(path, 'holds no manifest that can be read', 'name files that end in .yaml, .yml or .json');
  return [[path, { objects: [], problems: [none], readings: new Map() }]];
}

async function readFile(file: string): Promise<FileContents> {
  const result = await readText(file);
  switch (result.kind) {
    case 'text':
      return readFileText(file, result.text);
    case 'unreadable':
      return unreadable(file, result.why);
    case 'gone':
      return unreadable(file, 'it does not exist');
  }
}

/** First what each document says, then what they say together. */
function judge(files: ReadonlyMap<string, FileContents>): Verdict {
  const folder = new Folder();
  for (const [file, contents] of files) folder.update(file, contents, 0);
  const objects = [...files].flatMap(([file, contents]) => contents.objects.map((placed) => ({ ...placed, file })));
  const alone = folder.problems();
  const together = crossCheck(objects.map(({ object }) => object)).flatMap(({ id, problem }) => {
    const placed = objects.find((candidate) => candidate.id === id);
    return placed ? [{ ...problem, object: id, file: placed.file, line: placed.line, document: 0 }] : [];
  });
  return { files: files.size, objects: objects.length, problems: [...alone, ...together] };
}

function inWords({ files, objects, problems }: Verdict, output: Output): string {
  const lines = problems.map(formatManifestProblem);
  const counted = `${count(objects, 'object')} in ${count(files, 'file')}`;
  const summary =
    problems.length === 0
      ? paint(output, 'green', `${counted}: valid`)
      : paint(output, 'red', `${counted}: ${count(problems.length, 'problem')}`);
  return `${[...lines, summary].join('\n')}\n`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
