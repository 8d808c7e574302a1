import { isV4 } from '../../../net/ip.ts';
import type { Vip } from '../../../net/names.ts';
import type { Table } from '../../../net/table.ts';
import type { Bounce } from '../../decide/types.ts';
import { PASSED_ON } from './direct/layout.ts';
import { FAMILIES, type FamilyText } from './family.ts';
import { join, type NftText, nft } from './text.ts';

/**
 * After a VIP moved here, a TCP segment of a connection that is not known here belongs to its previous holder, which
 * translates it still: it gets a copy of the segment as it came, and this node drops its own. Before the translation,
 * which would send it to some endpoint that answers with a reset. In tables of their own, `ip` and `ip6`, because
 * `dup` does not exist in `inet`.
 */
export function bounceTransaction(bounces: Table<Vip, Bounce>): NftText {
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

function familyTable({ ip, address }: FamilyText, bounces: readonly (readonly [Vip, Bounce])[]): NftText[] {
  const table = nft`${ip} signpost`;
  const remove = [nft`add table ${table}`, nft`delete table ${table}`];
  if (bounces.length === 0) return remove;
  const chains = new Map<string, { readonly name: NftText; readonly bounce: Bounce }>();
  const elements = bounces.map(([vip, bounce]) => {
    const id = `${bounce.to} ${bounce.device}`;
    const chain = chains.get(id) ?? { name: nft`to-${chains.size}`, bounce };
    chains.set(id, chain);
    return nft`${vip} : goto ${chain.name}`;
  });
  return [
    ...remove,
    nft`add table ${table}`,
    nft`add map ${table} moved { type ${address} : verdict; }`,
    ...Array.from(chains.values()).flatMap(({ name, bounce }) => [
      nft`add chain ${table} ${name}`,
      nft`add rule ${table} ${name} dup to ${bounce.to} device "${bounce.device}"`,
      nft`add rule ${table} ${name} drop`,
    ]),
    nft`add chain ${table} bounce { type filter hook prerouting priority -190; policy accept; }`,
    // What was passed on once, by the rules of Direct forwarding, is never passed on again.
    nft`add rule ${table} bounce ${ip} dscp != ${PASSED_ON} ct state new,invalid tcp flags & (syn | rst) == 0 ${ip} daddr vmap @moved`,
    nft`add element ${table} moved { ${join(elements, ', ')} }`,
  ];
}
