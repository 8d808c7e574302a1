import { AttributeFlag, AttributeType } from '../constants.ts';
import type { Origin } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';

const ORIGINS: readonly Origin[] = ['IGP', 'EGP', 'INCOMPLETE'];

/** RFC 4271 section 4.3 (a); RFC 7606 section 7.1. */
export const origin: AttributeCodec<Origin> = {
  type: AttributeType.ORIGIN,
  name: 'ORIGIN',
  flags: AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value) => {
    if (value.remaining !== 1) return { problem: `length ${value.remaining} is not 1` };
    const code = value.u8() as number;
    const known = ORIGINS[code];
    return known === undefined ? { problem: `value ${code} is undefined` } : { ok: known };
  },
  encode: (value) => Uint8Array.of(ORIGINS.indexOf(value)),
};
