import { isV4 } from '../../../net/ip.ts';
import type { Vip } from '../../../net/names.ts';
import type { Table } from '../../../net/table.ts';
import type { Bounce } from '../../decide/types.ts';
import { BOUNCED, passedOnSet } from './code-points.ts';
import { FAMILIES, type FamilyText } from './family.ts';
import { join, type NftText, nft } from './text.ts';

/**
 * After a VIP moved here, a TCP segment of a connection that is not known here belongs to a former holder, which
 * translates it still: each gets a copy, those that do not know it drop theirs (`skeleton.ts`), and this node drops
 * its own. Before the translation, which would send it to some endpoint that answers with a reset. In tables of their
 * own, `ip` and `ip6`, because `dup` does not exist in `inet`.
 */
export function bounceTransaction(bounces: Table<Vip, readonly Bounce[]>): NftText {
  const all = [...bounces];
  return join(
    FAMILIES.flatMap((family) =>
      familyTable(
        family,
        all.filter(([vip]) => (family.ip === 'ip') === isV4(vip)),
      ),
    ),
    '; ',
  );
}

type Moved = readonly [Vip, readonly Bounce[]];

function familyTable({ ip, address }: FamilyText, moved: readonly Moved[]): NftText[] {
  const table = nft`${ip} signpost`;
  const remove = [nft`add table ${table}`, nft`delete table ${table}`];
  if (moved.length === 0) return remove;
  const chains = new Map<string, { readonly name: NftText; readonly bounces: readonly Bounce[] }>();
  const elements = moved.map(([vip, bounces]) => {
    const id = bounces.map(({ to, device }) => `${to} ${device}`).join();
    const chain = chains.get(id) ?? { name: nft`to-${chains.size}`, bounces };
    chains.set(id, chain);
    return nft`${vip} : goto ${chain.name}`;
  });
  return [
    ...remove,
    nft`add table ${table}`,
    nft`add map ${table} moved { type ${address} : verdict; }`,
    ...Array.from(chains.values()).flatMap(({ name, bounces }) => [
      nft`add chain ${table} ${name}`,
      nft`add rule ${table} ${name} ${ip} dscp set ${BOUNCED}`,
      ...bounces.map(({ to, device }) => nft`add rule ${table} ${name} dup to ${to} device "${device}"`),
      nft`add rule ${table} ${name} drop`,
    ]),
    nft`add chain ${table} bounce { type filter hook prerouting priority -190; policy accept; }`,
    nft`add rule ${table} bounce ${ip} dscp ${BOUNCED} accept`,
    nft`add rule ${table} bounce ${ip} dscp != ${passedOnSet()} ct state new,invalid tcp flags & (syn | rst) == 0 ${ip} daddr vmap @moved`,
    nft`add element ${table} moved { ${join(elements, ', ')} }`,
  ];
}
