import { expect, test } from 'vitest';
import { longestSilence, readAnswer, turnsOf } from './answers.ts';

const A = '02:00:00:00:00:0a';
const B = '02:00:00:00:00:0b';
const arp = `${A} > ff:ff:ff:ff:ff:ff, ethertype ARP (0x0806), length 42: Ethernet (len 6), IPv4 (len 4),`;

test.each([
  [`${arp} Reply 192.168.50.100 is-at ${A}, length 28`, '192.168.50.100'],
  [`${arp} Request who-has 192.168.50.100 (ff:ff:ff:ff:ff:ff) tell 192.168.50.100, length 28`, '192.168.50.100'],
  [`${arp} Request who-has 192.168.50.100 tell 192.168.50.100, length 28`, '192.168.50.100'],
  [`${arp} Announcement 192.168.50.100, length 28`, '192.168.50.100'],
  [
    `${A} > 33:33:00:00:00:01, ethertype IPv6 (0x86dd), length 86: (hlim 255, next-header ICMPv6 (58) payload length: 32) fd50::100 > ff02::1: [icmp6 sum ok] ICMP6, neighbor advertisement, length 32, tgt is fd50::100, Flags [override]   destination link-address option (2), length 8 (1): ${A}`,
    'fd50::100',
  ],
])('an answer: %s', (text, vip) => {
  expect(readAnswer({ at: 1, text })).toEqual({ at: 1, vip, mac: A });
});

test.each([
  `${arp} Request who-has 192.168.50.100 tell 192.168.50.2, length 28`,
  `${arp} Request who-has 192.168.50.100 tell 0.0.0.0, length 28`,
])('a question: %s', (text) => {
  expect(readAnswer({ at: 1, text })).toBeUndefined();
});

test('two that answer at the same time have more turns than leaders', () => {
  const answers = [A, A, B, A].map((mac, i) => ({ at: i * 10, vip: 'v', mac }));
  expect(turnsOf(answers, 'v')).toEqual([
    { mac: A, from: 0, to: 10 },
    { mac: B, from: 20, to: 20 },
    { mac: A, from: 30, to: 30 },
  ]);
  expect(turnsOf(answers, 'w')).toEqual([]);
  expect(longestSilence(answers, 'v')).toBe(10);
});
