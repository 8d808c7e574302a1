import { describe, expect, test } from 'vitest';
import { AttributeType, CapabilityCode, MessageType } from '../../bgp/codec/constants.ts';
import { decodeMessage } from '../../bgp/codec/messages/table.ts';
import { attributeTypes, fuzzBgp, SESSIONS } from './bgp.ts';
import { readCorpus } from './corpus.ts';

const corpus = readCorpus('bgp');

test('the corpus and 40,000 mutations of it break no invariant of the BGP codec', () => {
  const report = fuzzBgp({ seed: 1, runs: 40_000, corpus });
  expect(report.failure).toBeUndefined();
  expect(report.corpus.length).toBeGreaterThan(100);
});

describe('the corpus has at least once', () => {
  const decoded = corpus
    .filter(({ length }) => length >= 19)
    .flatMap((bytes) => SESSIONS.map((session) => ({ bytes, ...decodeMessage(bytes, session) })));
  const wellFormed = decoded.flatMap((one) => (one.outcome === 'message' && one.errors.length === 0 ? [one] : []));
  const errors = decoded.flatMap((one) => one.errors);

  test.each(Object.keys(MessageType))('%s, well formed', (type) => {
    expect(wellFormed.some(({ message }) => message.type === type)).toBe(true);
  });

  test.each(Object.entries(AttributeType))('%s, well formed and not', (name, type) => {
    const updates = wellFormed.filter(({ message }) => message.type === 'UPDATE');
    expect(updates.some(({ bytes }) => attributeTypes(bytes).includes(type))).toBe(true);
    expect(errors.some((error) => 'name' in error && error.name === name)).toBe(true);
  });

  test.each(Object.entries(CapabilityCode))('capability %s, well formed and not', (name, code) => {
    const kind = name.toLowerCase().replaceAll('_', '-');
    const known = wellFormed.flatMap(({ message }) => (message.type === 'OPEN' ? message.capabilities : []));
    expect(known.map((one) => one.kind)).toContain(kind);
    expect(errors.some((error) => error.kind === 'malformed-capability' && error.code === code)).toBe(true);
  });
});
