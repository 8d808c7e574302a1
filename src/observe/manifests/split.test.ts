import { expect, test } from 'vitest';
import { splitDocuments } from './split.ts';

const split = (...lines: string[]) => splitDocuments(lines.join('\n')).map(({ text, line }) => `${line}:${text}`);

test('divides at markers and counts lines', () => {
  expect(split('a: 1', '---', 'b: 2', '--- # next', 'c: 3')).toEqual(['1:a: 1', '2:---\nb: 2', '4:--- # next\nc: 3']);
});

test('keeps directives and comments with the document that they precede', () => {
  expect(split('# routes', '%YAML 1.2', '---', 'a: 1')).toEqual(['1:# routes\n%YAML 1.2\n---\na: 1']);
  expect(split('a: 1', '...', '# two', '---', 'b: 2')).toEqual(['1:a: 1\n...', '3:# two\n---\nb: 2']);
});

test('knows markers from text that looks like them', () => {
  expect(split('a: |', '  ---', '  text', '----: 1')).toHaveLength(1);
});

test('takes comments and empty documents for no documents', () => {
  expect(split('---', '# nothing', '---', '')).toEqual([]);
  expect(split('a: 1', '---')).toEqual(['1:a: 1']);
});

test('passes over a byte order mark and reads CRLF', () => {
  expect(splitDocuments('\uFEFFa: 1\r\n---\r\nb: 2\r\n').map(({ line }) => line)).toEqual([1, 2]);
});
