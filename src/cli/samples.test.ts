import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readFileText } from '../observe/manifests/file.ts';
import { formatManifestProblem } from '../observe/manifests/problem.ts';
import { crossCheck } from './cross-check.ts';

const FOLDER = 'daemonset/samples';
const samples = readdirSync(FOLDER).map((file) => ({
  file,
  ...readFileText(file, readFileSync(`${FOLDER}/${file}`, 'utf8')),
}));

test.each(samples)('$file is valid', ({ problems, objects }) => {
  expect(problems.map(formatManifestProblem)).toEqual([]);
  expect(objects.length).toBeGreaterThan(0);
});

test('the samples can be applied together', () => {
  // Services of a cluster are not among them, but for the one of the sample without a cluster.
  const ours = samples
    .flatMap(({ objects }) => objects.map(({ object }) => object))
    .filter(({ kind }) => kind !== 'Service');
  expect(crossCheck(ours)).toEqual([]);
  expect(new Set(ours.map(({ kind }) => kind))).toEqual(
    new Set(['AddressPool', 'BGPPeer', 'EndpointSlice', 'ServiceRoute']),
  );
});

test('the sample without a cluster has everything that it names', () => {
  const objects = samples.find(({ file }) => file === 'without-kubernetes.yaml')?.objects ?? [];
  expect(crossCheck(objects.map(({ object }) => object))).toEqual([]);
});
