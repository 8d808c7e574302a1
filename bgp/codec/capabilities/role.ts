import { CapabilityCode } from '../constants.ts';
import type { Role } from '../types.ts';
import type { CapabilityCodec, CapabilityOf } from './capability.ts';

/** RFC 9234 section 4.1, by value. */
const ROLES: readonly Role[] = ['provider', 'route-server', 'route-server-client', 'customer', 'peer'];

export const role: CapabilityCodec<CapabilityOf<'role'>> = {
  code: CapabilityCode.ROLE,
  decode: (value) => {
    if (value.remaining !== 1) return { problem: `length ${value.remaining} is not 1` };
    const code = value.u8() as number;
    const known = ROLES[code];
    return known === undefined ? { problem: `role ${code} is unassigned` } : { ok: { kind: 'role', role: known } };
  },
  encode: (capability) => Uint8Array.of(ROLES.indexOf(capability.role)),
};
