import { Writer } from '../../net/cursor.ts';
import { expand } from '../vectors/bgp.ts';
import { mutateBytes, mutateList } from './mutate.ts';
import type { Random } from './random.ts';

/** A list of typed values: path attributes or capabilities. */
interface Item {
  readonly flags: number;
  readonly type: number;
  readonly value: Uint8Array;
}

/** A message by its grammar; what is derived from other fields (lengths) is not there, but for lies about it. */
type Tree =
  | {
      readonly kind: 'update';
      readonly withdrawn: Uint8Array;
      readonly attributes: readonly Item[];
      readonly nlri: Uint8Array;
      readonly lies: Lies;
    }
  | {
      readonly kind: 'open';
      readonly fixed: Uint8Array;
      readonly capabilities: readonly Item[];
      readonly extended: boolean;
      readonly lies: Lies;
    }
  | { readonly kind: 'other'; readonly type: number; readonly body: Uint8Array };

/** Added to length fields in the order in which they are written. */
type Lies = readonly number[];

const VALUES: Readonly<Record<number, readonly string[]>> = {
  1: ['00', '01', '02', '03'],
  2: ['02010000fde9', '02020000fde9fa56ea01', '01020000fde900000001', '', '0201fde9', '02010000fde9 0301 0000fde9'],
  3: ['c0000201', '00000000', 'e0000001', '7f000001'],
  4: ['00000001'],
  5: ['00000064'],
  6: [''],
  7: ['0000fde9c0000201', 'fde9c0000201', '5ba0c0000201'],
  8: ['fde90001', 'ffffff01ffffff02'],
  9: ['c0000201'],
  10: ['c0000201c0000202'],
  14: [
    '000201 10 20010db8 00*11 01 00 80 20010db8 00*11 09',
    '000201 20 20010db8 00*11 01 fe80 00*13 01 00 30 20010db80007',
    '000101 04 c0000201 00 18 c63364',
    '000101 10 20010db8 00*11 01 00 18 c63364',
    '000180 0c 00*8 c0000201 00 70 000011 00*8 c63364',
  ],
  15: ['000201', '000201 30 20010db80007', '000101 18 c63364', '000180'],
  16: ['0002fde900000064'],
  17: ['02010000fde9', '0202fa56ea01fa56ea02', '0301 0000fde9'],
  18: ['fa56ea01c0000201'],
  23: ['000800020000'],
  25: ['0002 20010db8 00*12 0064'],
  32: ['0000fde90000000100000002'],
  35: ['0000fde9', '00000007'],
  40: ['010007 00*7'],
  99: ['0102'],
};
const FLAGS: Readonly<Record<number, number>> = {
  1: 0x40,
  2: 0x40,
  3: 0x40,
  4: 0x80,
  5: 0x40,
  6: 0x40,
  9: 0x80,
  10: 0x80,
  14: 0x80,
  15: 0x80,
};
const ATTRIBUTE_TYPES = Object.keys(VALUES).map(Number);

const CAPABILITIES: readonly Item[] = [
  [1, '00010001'],
  [1, '00020001'],
  [2, ''],
  [5, '000100010002'],
  [6, ''],
  [9, '03'],
  [64, '4078 0001 01 80'],
  [65, '0000fde9'],
  [65, '00000000'],
  [70, ''],
  [69, '00010101'],
  [73, '026672'],
].map(([type, value]) => ({ flags: 0, type: type as number, value: expand(value as string) }));

const NLRI = ['', '20cb007109', '18c63364 00', '20cb007109 1ecb00710b', '21cb00710900'].map(expand);
const BODIES: readonly (readonly [number, Uint8Array])[] = [
  [3, '0602'],
  [3, '0602 03414243'],
  [3, '0609 0604'],
  [4, ''],
  [5, '00010001'],
  [5, '00020101'],
  [5, '00190046'],
].map(([type, body]) => [type as number, expand(body as string)] as const);

/** A message that is well formed but for what a few random changes did to its tree and its octets. */
export function generate(random: Random): Uint8Array {
  let tree = makeTree(random);
  for (let i = random.below(5); i > 0; i--) tree = mutateTree(tree, random);
  return render(tree);
}

function makeTree(random: Random): Tree {
  if (random.oneIn(8)) {
    const [type, body] = random.pick(BODIES);
    return { kind: 'other', type, body };
  }
  if (random.oneIn(4)) {
    const capabilities = Array.from({ length: random.below(6) }, () => random.pick(CAPABILITIES));
    return { kind: 'open', fixed: expand('04 fde9 005a 0a09094d'), capabilities, extended: random.oneIn(4), lies: [] };
  }
  const optional = Array.from({ length: random.below(5) }, () => makeAttribute(random));
  const attributes = [1, 2, 3].map((type) => attribute(type, VALUES[type]?.[0] ?? ''));
  const withdrawn = random.oneIn(3) ? random.pick(NLRI) : new Uint8Array();
  return { kind: 'update', withdrawn, attributes: [...attributes, ...optional], nlri: random.pick(NLRI), lies: [] };
}

function attribute(type: number, value: string): Item {
  return { flags: FLAGS[type] ?? 0xc0, type, value: expand(value) };
}

function makeAttribute(random: Random): Item {
  const type = random.pick(ATTRIBUTE_TYPES);
  return attribute(type, random.pick(VALUES[type] ?? ['']));
}

function mutateTree(tree: Tree, random: Random): Tree {
  switch (tree.kind) {
    case 'other':
      return random.oneIn(8) ? { ...tree, type: random.below(8) } : { ...tree, body: mutateBytes(tree.body, random) };
    case 'open':
      switch (random.below(5)) {
        case 0:
          return { ...tree, fixed: mutateBytes(tree.fixed, random) };
        case 1:
          return { ...tree, lies: lie(random) };
        case 2:
          return { ...tree, extended: !tree.extended };
        default:
          return { ...tree, capabilities: mutateItems(tree.capabilities, random, () => random.pick(CAPABILITIES)) };
      }
    case 'update':
      switch (random.below(8)) {
        case 0:
          return { ...tree, withdrawn: mutateBytes(tree.withdrawn, random) };
        case 1:
          return { ...tree, nlri: random.oneIn(2) ? random.pick(NLRI) : mutateBytes(tree.nlri, random) };
        case 2:
          return { ...tree, lies: lie(random) };
        default:
          return { ...tree, attributes: mutateItems(tree.attributes, random, () => makeAttribute(random)) };
      }
  }
}

function lie(random: Random): Lies {
  return Array.from({ length: 4 }, () => (random.oneIn(4) ? random.pick([-200, -4, -1, 1, 2, 4, 255, 60_000]) : 0));
}

function mutateItems(items: readonly Item[], random: Random, make: () => Item): readonly Item[] {
  const change = (item: Item): Item => {
    switch (random.below(4)) {
      case 0:
        return { ...item, flags: item.flags ^ (1 << random.below(8)) };
      case 1:
        return { ...item, type: random.oneIn(2) ? random.pick(ATTRIBUTE_TYPES) : random.below(256) };
      default:
        return { ...item, value: mutateBytes(item.value, random) };
    }
  };
  return mutateList(items, random, change, make);
}

function render(tree: Tree): Uint8Array {
  if (tree.kind === 'other') return withHeader(tree.type, tree.body);
  const [first = 0, second = 0, third = 0] = tree.lies;
  if (tree.kind === 'update') {
    const { withdrawn, nlri } = tree;
    const list = new Writer();
    tree.attributes.forEach((item, i) => writeAttribute(list, item, i === 0 ? third : 0));
    const out = new Writer().u16(clamp(withdrawn.length + first, 0xffff)).bytes(withdrawn);
    return withHeader(
      2,
      out
        .u16(clamp(list.length + second, 0xffff))
        .bytes(list.finish())
        .bytes(nlri)
        .finish(),
    );
  }
  const list = new Writer();
  for (const { type, value } of tree.capabilities) list.u8(type).u8(clamp(value.length, 0xff)).bytes(value);
  const out = new Writer().bytes(tree.fixed);
  if (tree.extended)
    out
      .u8(0xff)
      .u8(0xff)
      .u16(clamp(list.length + 3 + first, 0xffff))
      .u8(2)
      .u16(clamp(list.length + second, 0xffff));
  else
    out
      .u8(clamp(list.length + 2 + first, 0xff))
      .u8(2)
      .u8(clamp(list.length + second, 0xff));
  return withHeader(1, out.bytes(list.finish()).finish());
}

function writeAttribute(out: Writer, { flags, type, value }: Item, lies: number): void {
  out.u8(flags).u8(type);
  if ((flags & 0x10) === 0) out.u8(clamp(value.length + lies, 0xff));
  else out.u16(clamp(value.length + lies, 0xffff));
  out.bytes(value);
}

function clamp(value: number, maximum: number): number {
  return Math.min(Math.max(0, value), maximum);
}

function withHeader(type: number, body: Uint8Array): Uint8Array {
  return new Writer()
    .bytes(new Uint8Array(16).fill(0xff))
    .u16(19 + body.length)
    .u8(type)
    .bytes(body)
    .finish();
}
