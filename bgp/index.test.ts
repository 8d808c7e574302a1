import { expectTypeOf, test } from 'vitest';
import type { Ip } from '../net/ip.ts';
import type { Prefix } from '../net/prefix.ts';
import {
  type Ending,
  type FsmState,
  type PeerAddress,
  type PeerRange,
  type PeerSettings,
  type RouteAttributes,
  type SessionStatus,
  Speaker,
  type SpeakerEvent,
  type SpeakerOptions,
} from './index.ts';

test('the face takes checked addresses, and what it tells can be told apart', () => {
  expectTypeOf(Speaker).toBeConstructibleWith({} as SpeakerOptions);
  expectTypeOf<Speaker['setPeer']>().parameters.toEqualTypeOf<[name: string, settings: PeerSettings]>();
  expectTypeOf<Parameters<Speaker['setRoutes']>[1]>().toEqualTypeOf<ReadonlyMap<Prefix, RouteAttributes>>();
  expectTypeOf<Parameters<Speaker['close']>[0]>().toEqualTypeOf<Ending>();
  expectTypeOf<ReturnType<Speaker['status']>[number]>().toEqualTypeOf<SessionStatus>();
  expectTypeOf<PeerSettings['remote']>().toEqualTypeOf<PeerAddress | PeerRange>();
  expectTypeOf<SessionStatus['state']>().toEqualTypeOf<FsmState>();

  expectTypeOf<string>().not.toExtend<Ip>();
  expectTypeOf<string>().not.toExtend<Prefix>();
  expectTypeOf<SessionStatus>().not.toHaveProperty('secret');
  expectTypeOf<SessionStatus['password']>().toEqualTypeOf<boolean>();

  expectTypeOf<SpeakerEvent['kind']>().toEqualTypeOf<
    'state' | 'notification' | 'malformed' | 'problem' | 'dynamic-peer'
  >();
  expectTypeOf<Extract<SpeakerEvent, { kind: 'state' }>['to']>().toEqualTypeOf<FsmState>();
});
