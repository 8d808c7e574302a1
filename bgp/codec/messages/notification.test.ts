import { describe, expect, test } from 'vitest';
import type { Notification } from '../types.ts';
import { ceaseWithCommunication, hardReset, hardResetReason, shutdownCommunication } from './notification.ts';

function cease(subcode: number, data: readonly number[]): Notification {
  return { type: 'NOTIFICATION', code: 6, subcode, data: Uint8Array.from(data) };
}

describe('a shutdown communication (RFC 9003)', () => {
  test('says what it was given', () => {
    const sent = ceaseWithCommunication(2, 'Wartung bis 14:00, 維護');
    expect(sent).toMatchObject({ code: 6, subcode: 2 });
    expect(sent.data[0]).toBe(sent.data.length - 1);
    expect(shutdownCommunication(sent)).toBe('Wartung bis 14:00, 維護');
    expect(shutdownCommunication(hardReset(sent))).toBe('Wartung bis 14:00, 維護');
  });

  test('has at most 255 octets and ends with a whole character', () => {
    const { data } = ceaseWithCommunication(4, 'é'.repeat(200));
    expect(data).toHaveLength(1 + 254);
    expect(shutdownCommunication(cease(4, [...data]))).toBe('é'.repeat(127));
  });

  test('without words has no data', () => {
    expect(ceaseWithCommunication(2, '').data).toHaveLength(0);
  });

  test.each([
    ['is longer than the message', cease(2, [255, 65, 66, 67])],
    ['is not UTF-8', cease(2, [4, 0xff, 0xfe, 0xc0, 0x80])],
    ['is empty', cease(2, [0])],
    ['is not there', cease(2, [])],
    ['comes with another subcode', cease(3, [1, 65])],
    ['comes with another code', { ...cease(2, [1, 65]), code: 4 }],
  ])('that %s is none', (_, notification) => {
    expect(shutdownCommunication(notification)).toBeUndefined();
  });

  test('cannot steer a terminal or forge a line of a log', () => {
    const text = [...new TextEncoder().encode('a\u001b[31m\nb\u2028\u202e')];
    expect(shutdownCommunication(cease(2, [text.length, ...text]))).toBe('a\\u{1b}[31m\\u{a}b\\u{2028}\\u{202e}');
  });
});

test('a hard reset wraps its reason (RFC 8538 section 3.1)', () => {
  const reason = cease(4, [1, 65]);
  expect(hardReset(reason)).toEqual(cease(9, [6, 4, 1, 65]));
  expect(hardResetReason(hardReset(reason))).toEqual(reason);
  expect(hardResetReason(cease(9, [6]))).toBeUndefined();
  expect(hardResetReason(reason)).toBeUndefined();
});
