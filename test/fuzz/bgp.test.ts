import { expect, test } from 'vitest';
import { fuzzBgp } from './bgp.ts';
import { readCorpus } from './corpus.ts';

test('the corpus and 40,000 mutations of it break no invariant of the BGP codec', () => {
  const report = fuzzBgp({ seed: 1, runs: 40_000, corpus: readCorpus('bgp') });
  expect(report.failure).toBeUndefined();
  expect(report.corpus.length).toBeGreaterThan(100);
});
