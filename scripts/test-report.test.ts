import { expect, test } from 'vitest';
import { type FileReport, failedFiles, failuresOf, replaceFiles, totalsOf } from './test-report.ts';

const passed: FileReport = {
  name: 'a.test.ts',
  status: 'passed',
  assertionResults: [
    { fullName: 'one', status: 'passed' },
    { fullName: 'two', status: 'pending' },
  ],
};
const failed: FileReport = {
  name: 'b.test.ts',
  status: 'failed',
  assertionResults: [
    { fullName: 'three', status: 'failed', failureMessages: ['no answer in 500 ms\n  at b.test.ts:7'] },
    { fullName: 'four', status: 'passed' },
  ],
};
const unloaded: FileReport = { name: 'c.test.ts', status: 'failed', message: 'hook: no LAN', assertionResults: [] };
const report = { testResults: [passed, failed, unloaded] };

test('counts tests, and a file that does not get as far as a test as one failure', () => {
  expect(totalsOf(report)).toEqual({ passed: 2, failed: 2, skipped: 1 });
});

test('tells what failed and why', () => {
  expect(failedFiles(report)).toEqual(['b.test.ts', 'c.test.ts']);
  expect(failuresOf(report)).toEqual(['b.test.ts > three: no answer in 500 ms', 'c.test.ts: hook: no LAN']);
});

test('a second run stands for the first of the same files only', () => {
  const again: FileReport = {
    ...failed,
    status: 'passed',
    assertionResults: failed.assertionResults.map(({ fullName }) => ({ fullName, status: 'passed' })),
  };
  const both = replaceFiles(report, { testResults: [again] });
  expect(totalsOf(both)).toEqual({ passed: 3, failed: 1, skipped: 1 });
  expect(failedFiles(both)).toEqual(['c.test.ts']);
});
