import { type NftText, nft } from './text.ts';

/** The one table that carries traffic to VIPs. Nothing outside of it is ever changed. */
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

/** An element of a set, or of a map where it has data. */
export interface Element {
  readonly set: NftText;
  readonly key: NftText;
  readonly data?: NftText;
}

const KIND = { set: nft`set`, map: nft`map`, chain: nft`chain` } as const;

/** Commands that make an object which is not there yet. */
export function addObject(object: TableObject): NftText[] {
  if (object.kind !== 'chain') {
    return [nft`add ${KIND[object.kind]} ${TABLE} ${object.name} { ${object.spec}; }`];
  }
  const { name, hook } = object;
  const chain = hook ? nft`add chain ${TABLE} ${name} { ${hook}; policy accept; }` : nft`add chain ${TABLE} ${name}`;
  return [chain, ...addRules(object)];
}

/** Commands that give a chain, which is there, these rules and no others. */
export function rewriteRules(chain: ChainObject): NftText[] {
  return [nft`flush chain ${TABLE} ${chain.name}`, ...addRules(chain)];
}

export function deleteObject(object: Pick<TableObject, 'kind' | 'name'>): NftText {
  return nft`delete ${KIND[object.kind]} ${TABLE} ${object.name}`;
}

function addRules(chain: ChainObject): NftText[] {
  return chain.rules.map((rule) => nft`add rule ${TABLE} ${chain.name} ${rule}`);
}
