import type { IpFamily } from '../net/ip.ts';
import { addressOf, libc, SO_ATTACH_FILTER, SOL_SOCKET } from './libc.ts';

/** One instruction of classic BPF (Linux Documentation/networking/filter.rst): opcode, jumps, operand. */
export type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];

/** `SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT`: 1 where the NIC has stripped a tag from the frame. */
const VLAN_TAG_PRESENT = 0xfffff000 + 48;

/** A field of the frame that must have one of some values. */
export interface Test {
  readonly load: 'u8' | 'u16';
  /** Bytes from the start of the Ethernet header. */
  readonly offset: number;
  readonly values: readonly number[];
}

const LOAD = { u8: 0x30, u16: 0x28 } as const;
const JUMP_IF_EQUAL = 0x15;
const RETURN = 0x06;
const WHOLE_FRAME = 0x40000;

/** Accepts frames that pass every test and carry no VLAN tag: a tagged one belongs to the VLAN's interface alone. */
export function acceptUntagged(tests: readonly Test[]): Instruction[] {
  const all: readonly Test[] = [{ load: 'u8', offset: VLAN_TAG_PRESENT, values: [0] }, ...tests];
  const lengths = all.map((test) => 1 + test.values.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const program: Instruction[] = [];
  for (const { load, offset, values } of all) {
    program.push([LOAD[load], 0, 0, offset]);
    values.forEach((value, i) => {
      const left = values.length - 1 - i;
      // The last value decides: on a mismatch the program ends at its final "drop".
      const toDrop = total - program.length;
      program.push([JUMP_IF_EQUAL, left, left === 0 ? toDrop : 0, value]);
    });
  }
  program.push([RETURN, 0, 0, WHOLE_FRAME], [RETURN, 0, 0, 0]);
  return program;
}

export function encodeProgram(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([code, jumpTrue, jumpFalse, k], i) => {
    bytes.setUint16(i * 8, code, true);
    bytes.setUint8(i * 8 + 2, jumpTrue);
    bytes.setUint8(i * 8 + 3, jumpFalse);
    bytes.setUint32(i * 8 + 4, k, true);
  });
  return new Uint8Array(bytes.buffer);
}

/** `SKF_NET_OFF`: the network header, wherever the socket's own data begins. */
const NETWORK_HEADER = 0xfff00000;
const TTL_OFFSET = { IPv4: 8, IPv6: 7 } as const;

/** IP_MINTTL does not filter UDP nor ICMPv6: this drops every other TTL or hop limit, for any socket of a family. */
export function onlyTtl(family: IpFamily, ttl: number): Instruction[] {
  return [
    [LOAD.u8, 0, 0, NETWORK_HEADER + TTL_OFFSET[family]],
    [JUMP_IF_EQUAL, 0, 1, ttl],
    [RETURN, 0, 0, WHOLE_FRAME],
    [RETURN, 0, 0, 0],
  ];
}

/** Hands a struct sock_fprog to `attach`, whose kernel call reads the program that it points to. */
export function withFilter<T>(program: readonly Instruction[], attach: (sockFprog: Uint8Array) => T): T {
  const code = encodeProgram(program);
  const sockFprog = new DataView(new ArrayBuffer(16));
  sockFprog.setUint16(0, program.length, true);
  sockFprog.setBigUint64(8, addressOf(code), true);
  const result = attach(new Uint8Array(sockFprog.buffer));
  // A use after the call: the collector must not take the program before the kernel has read it.
  code.fill(0);
  return result;
}

/** @returns whether the kernel took the program; errno tells why not. */
export function attachFilter(fd: number, program: readonly Instruction[]): boolean {
  return withFilter(
    program,
    (sockFprog) => libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, sockFprog, sockFprog.length) === 0,
  );
}
