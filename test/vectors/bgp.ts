import vectors from './bgp.json' with { type: 'json' };
import captures from './bgp-captures.json' with { type: 'json' };

/** One message, and what the RFCs ask of its receiver. */
export interface BgpVector {
  readonly id: string;
  readonly name: string;
  /** The receiver's state when it arrives: `open` is OpenSent. */
  readonly phase: 'open' | 'established';
  readonly expect: BgpExpectation;
  readonly reference: string;
  /** Header included. */
  readonly bytes: Uint8Array;
}

export type BgpExpectation =
  | { readonly kind: 'notification'; readonly code: number; readonly subcode: number }
  /** The route is not installed, the session stays. */
  | { readonly kind: 'treat-as-withdraw' }
  /** An attribute is dropped, the route is installed. */
  | { readonly kind: 'attribute-discard' }
  | { readonly kind: 'accept' }
  /** The receiver closes and sends nothing. */
  | { readonly kind: 'close' };

/**
 * The sender is AS 65001 and external, it announced IPv4, IPv6, route refresh and four-octet AS numbers. UPDATEs
 * announce 203.0.113.9/32 with the next hop 192.0.2.1, if any route.
 */
export function bgpVectors(): readonly BgpVector[] {
  return vectors.map(({ id, name, phase, expect, reference, bytes }) => ({
    id,
    name,
    phase: phase as BgpVector['phase'],
    expect: expectation(expect),
    reference,
    bytes: expand(bytes),
  }));
}

const WORDS: Readonly<Record<string, BgpExpectation>> = {
  taw: { kind: 'treat-as-withdraw' },
  discard: { kind: 'attribute-discard' },
  ok: { kind: 'accept' },
  close: { kind: 'close' },
};

function expectation(text: string): BgpExpectation {
  const [, code, subcode] = /^N (\d+)\/(\d+)$/.exec(text) ?? [];
  const word =
    code === undefined ? WORDS[text] : { kind: 'notification' as const, code: Number(code), subcode: Number(subcode) };
  if (word === undefined) throw new Error(`no expectation: ${text}`);
  return word;
}

/** What a real speaker said to AS 65001 from its OPEN to the End-of-RIB of IPv4 and IPv6. */
export interface BgpCapture {
  readonly speaker: string;
  readonly messages: readonly Uint8Array[];
}

export function bgpCaptures(): readonly BgpCapture[] {
  return captures.map(({ speaker, messages }) => ({ speaker, messages: messages.map(expand) }));
}

/** Hexadecimal digits, `ff*16` for sixteen times that octet. */
export function expand(text: string): Uint8Array {
  const parts = text.split(' ').map((part) => {
    const [digits = '', count] = part.split('*');
    return count === undefined ? digits : digits.repeat(Number(count));
  });
  return Uint8Array.from(parts.join('').match(/../g) ?? [], (octet) => Number.parseInt(octet, 16));
}
