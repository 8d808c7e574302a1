import { Cursor } from '../../../net/cursor.ts';
import type { Result } from '../../../net/result.ts';
import { ParameterType } from '../constants.ts';
import type { DecodeError } from '../errors.ts';

/** One capability as it stands in an OPEN, its value undecoded. */
export interface RawCapability {
  readonly code: number;
  readonly value: Uint8Array;
}

/** The type 255 and the length of two octets that stand before parameters in the extended form. */
const EXTENSION_LENGTH = 3;

/**
 * The capabilities of an OPEN's optional parameters (RFC 4271 section 4.2, RFC 5492 section 4, RFC 9072 section 2).
 * @param announced the octet of their length.
 * @param parameters all that follows it. Nothing comes after a problem.
 */
export function* splitCapabilities(
  announced: number,
  parameters: Uint8Array,
): Generator<Result<RawCapability, DecodeError>> {
  const extended = announced === 0 ? undefined : extendedLength(parameters);
  const cursor = new Cursor(extended === undefined ? parameters : parameters.subarray(EXTENSION_LENGTH));
  const length = extended ?? announced;
  if (length !== cursor.remaining) {
    yield malformed(`${length} octets of parameters announced, ${cursor.remaining} there`);
    return;
  }
  while (cursor.remaining > 0) {
    const type = cursor.u8() as number;
    const size = extended === undefined ? cursor.u8() : cursor.u16();
    const value = size === undefined ? undefined : cursor.sub(size);
    if (value === undefined) {
      yield malformed(`parameter ${type} is cut short`);
      return;
    }
    if (type !== ParameterType.CAPABILITIES) {
      yield { problem: { kind: 'unsupported-optional-parameter', type } };
      return;
    }
    while (value.remaining > 0) {
      const code = value.u8() as number;
      const octets = value.u8();
      const bytes = octets === undefined ? undefined : value.bytes(octets);
      if (bytes === undefined) {
        yield malformed(`capability ${code} is cut short`);
        return;
      }
      yield { ok: { code, value: bytes } };
    }
  }
}

/** The type decides; the length before it is then ignored, but zero means that there are no parameters. */
function extendedLength(parameters: Uint8Array): number | undefined {
  const cursor = new Cursor(parameters);
  return cursor.u8() === ParameterType.EXTENDED_LENGTH ? cursor.u16() : undefined;
}

function malformed(detail: string): { readonly problem: DecodeError } {
  return { problem: { kind: 'malformed-open', detail } };
}
