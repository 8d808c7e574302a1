import { type NftText, nft } from './text.ts';

/** The table that translates traffic to VIPs. */
export const TABLE = nft`inet signpost`;

export type TableObject = SetObject | ChainObject;

export interface SetObject {
  readonly kind: 'set' | 'map';
  readonly name: NftText;
  /** `type ...; flags ...`. */
  readonly spec: NftText;
}

export interface ChainObject {
  readonly kind: 'chain';
  readonly name: NftText;
  /** `type ... hook ... priority ...` of a base chain. */
  readonly hook?: NftText;
  readonly rules: readonly NftText[];
}

/** Which objects a table has. */
export interface Presence {
  readonly objects: ReadonlyMap<string, TableObject['kind']>;
  /** How many rules each chain has. */
  readonly rules: ReadonlyMap<string, number>;
}

/** An element of a set, or of a map where it has data. */
export interface Element {
  readonly set: NftText;
  readonly key: NftText;
  readonly data?: NftText;
}

const KIND = { set: nft`set`, map: nft`map`, chain: nft`chain` } as const;

/** Commands that make an object what it should be, given the table that it is in. */
export function restoreObject(table: NftText, object: TableObject, { objects, rules }: Presence): NftText[] {
  const { kind, name } = object;
  const there = objects.has(name);
  if (kind !== 'chain') return there ? [] : [nft`add ${KIND[kind]} ${table} ${name} { ${object.spec}; }`];
  if (!there) return [addChain(table, object), ...addRules(table, object)];
  return rules.get(name) === object.rules.length ? [] : rewriteChain(table, object);
}

/** Commands that replace the rules of a chain that is there. */
export function rewriteChain(table: NftText, chain: ChainObject): NftText[] {
  return [nft`flush chain ${table} ${chain.name}`, ...addRules(table, chain)];
}

export function deleteObject(table: NftText, { kind, name }: Pick<TableObject, 'kind' | 'name'>): NftText {
  return nft`delete ${KIND[kind]} ${table} ${name}`;
}

function addChain(table: NftText, { name, hook }: ChainObject): NftText {
  return hook ? nft`add chain ${table} ${name} { ${hook}; policy accept; }` : nft`add chain ${table} ${name}`;
}

function addRules(table: NftText, chain: ChainObject): NftText[] {
  return chain.rules.map((rule) => nft`add rule ${table} ${chain.name} ${rule}`);
}
