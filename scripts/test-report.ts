/** What `vitest --reporter=json` writes, as far as it is read here. */
export interface Report {
  readonly testResults: readonly FileReport[];
}

export interface FileReport {
  /** Path of the file. */
  readonly name: string;
  readonly status: 'passed' | 'failed';
  /** Why the file itself failed: it did not load, or a hook threw. */
  readonly message?: string;
  readonly assertionResults: readonly TestReport[];
}

export interface TestReport {
  readonly fullName: string;
  readonly status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo' | 'disabled';
  readonly failureMessages?: readonly string[];
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function failedFiles({ testResults }: Report): readonly string[] {
  return testResults.filter(isFailed).map(({ name }) => name);
}

/** The files of `second` in the place of those of `first`. */
export function replaceFiles(first: Report, second: Report): Report {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  return { testResults: first.testResults.map((file) => again.get(file.name) ?? file) };
}

/** A file that fails without a failed test counts as one failure. */
export function totalsOf({ testResults }: Report): Totals {
  let [passed, failed, skipped] = [0, 0, 0];
  for (const file of testResults) {
    const count = (status: TestReport['status']) =>
      file.assertionResults.filter((test) => test.status === status).length;
    const failedTests = count('failed');
    passed += count('passed');
    failed += failedTests === 0 && isFailed(file) ? 1 : failedTests;
    skipped += file.assertionResults.length - count('passed') - failedTests;
  }
  return { passed, failed, skipped };
}

/** A line for each failure of `first`: file, test and the first line of the reason. */
export function failuresOf({ testResults }: Report): readonly string[] {
  return testResults.filter(isFailed).flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0) return [`${file.name}: ${firstLine(file.message)}`];
    return failed.map(
      ({ fullName, failureMessages }) => `${file.name} > ${fullName}: ${firstLine(failureMessages?.[0])}`,
    );
  });
}

function isFailed({ status, assertionResults }: FileReport): boolean {
  return status === 'failed' || assertionResults.some((test) => test.status === 'failed');
}

function firstLine(text = 'no reason given'): string {
  return text.split('\n', 1)[0] ?? '';
}
