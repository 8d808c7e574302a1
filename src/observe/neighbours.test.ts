import { expect, test } from 'vitest';
import type { Ip } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import { type NeighbourKey, neighbourKey } from '../world/keys.ts';
import { Neighbours } from './neighbours.ts';

const IP = '192.0.2.2' as Ip;
const KEY = neighbourKey(2, IP);
const FIRST = '02:00:00:00:00:02' as Mac;
const SECOND = '02:00:00:00:00:03' as Mac;

const learnt = (mac: Mac, ip = IP) => ({ type: 'neighbour', index: 2, ip, mac }) as const;

function follower() {
  const told: [NeighbourKey, Mac][][] = [];
  return { told, neighbours: new Neighbours((now) => told.push([...now])) };
}

test('only who is followed is told of, also what was learnt before', () => {
  const { told, neighbours } = follower();
  neighbours.fold([learnt(FIRST), learnt(SECOND, '192.0.2.9' as Ip)]);
  expect(told).toEqual([]);
  neighbours.follow(new Set([KEY]));
  expect(told).toEqual([[[KEY, FIRST]]]);
});

test('a change is told once, and what the kernel forgets stays', () => {
  const { told, neighbours } = follower();
  neighbours.follow(new Set([KEY]));
  neighbours.fold([learnt(FIRST)]);
  neighbours.fold([learnt(FIRST)]);
  neighbours.fold([{ type: 'neighbourGone', index: 2, ip: IP }]);
  neighbours.fold([learnt(SECOND)]);
  expect(told).toEqual([[[KEY, FIRST]], [[KEY, SECOND]]]);
});

test('strangers that the kernel forgets are forgotten', () => {
  const { told, neighbours } = follower();
  neighbours.fold([learnt(FIRST), { type: 'neighbourGone', index: 2, ip: IP }]);
  neighbours.follow(new Set([KEY]));
  expect(told).toEqual([]);
});
