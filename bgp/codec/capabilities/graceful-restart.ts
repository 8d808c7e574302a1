import { type Cursor, Writer } from '../../../net/cursor.ts';
import { CapabilityCode } from '../constants.ts';
import type { GracefulRestart, GracefulRestartFamily } from '../types.ts';
import type { CapabilityCodec } from './capability.ts';

/** RFC 4724 section 3. */
const RESTART_STATE = 0x8000;
const FORWARDING_STATE = 0x80;
/** RFC 8538 section 2. */
const NOTIFICATION = 0x4000;
const RESTART_TIME_MASK = 0x0fff;

export const gracefulRestart: CapabilityCodec<GracefulRestart> = {
  code: CapabilityCode.GRACEFUL_RESTART,
  decode: (value) => {
    const head = value.u16();
    if (head === undefined || value.remaining % 4 !== 0) return { problem: 'its length is not 2 and a multiple of 4' };
    return {
      ok: {
        kind: 'graceful-restart',
        restarting: (head & RESTART_STATE) !== 0,
        notification: (head & NOTIFICATION) !== 0,
        restartTime: head & RESTART_TIME_MASK,
        families: Array.from({ length: value.remaining / 4 }, () => readFamily(value)),
      },
    };
  },
  encode: ({ restarting, notification, restartTime, families }) => {
    if (restartTime > RESTART_TIME_MASK) throw new RangeError(`a restart time of ${restartTime} s`);
    const flags = (restarting ? RESTART_STATE : 0) | (notification ? NOTIFICATION : 0);
    const out = new Writer(2 + 4 * families.length).u16(flags | restartTime);
    for (const { afi, safi, forwarding } of families)
      out
        .u16(afi)
        .u8(safi)
        .u8(forwarding ? FORWARDING_STATE : 0);
    return out.finish();
  },
};

function readFamily(value: Cursor): GracefulRestartFamily {
  return {
    afi: value.u16() as number,
    safi: value.u8() as number,
    forwarding: ((value.u8() as number) & FORWARDING_STATE) !== 0,
  };
}
