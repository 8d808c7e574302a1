import type { InterfaceName } from '../../../../net/names.ts';
import { hash32 } from '../../../../net/rendezvous.ts';
import { HASH_SEED } from '../../../decide/direct/client-hash.ts';
import { SLOTS } from '../../../decide/direct/slots.ts';
import { PASSED_ON } from '../code-points.ts';
import { FAMILIES, type FamilyText } from '../family.ts';
import { packetKey } from '../skeleton.ts';
import type { ChainObject, SetObject, TableObject } from '../table.ts';
import { type NftText, nft } from '../text.ts';

/** Raised whenever the rules of a chain or the type of a set change: tables of another layout are replaced. */
export const LAYOUT = 1;

/** Where frames are steered, before the IP stack sees them. */
export const STEERING = nft`netdev signpost`;

/** Where what reached the wrong node is passed on; `dup` does not exist in `inet`. */
export function passingTable({ ip }: FamilyText): NftText {
  return nft`${ip} signpost-direct`;
}

/** Hardware addresses of the members behind each interface. */
const MEMBERS: SetObject = { kind: 'set', name: nft`members`, spec: nft`type ifname . ether_addr` };

/** What the STEERING table holds whatever the plan is. */
export const STEERING_SKELETON: readonly TableObject[] = [
  MEMBERS,
  ...FAMILIES.map((family) => verdictsByKey(steerMap(family), family)),
  chain(
    nft`steer`,
    // Somebody chose this node: it is not chosen again.
    nft`iifname . ether saddr @members accept`,
    // Fragments meet at the node that they come to, and are passed on when they are whole again.
    ...FAMILIES.map((family) => nft`${unfragmented(family)} ${packetKey(family)} vmap @${steerMap(family)}`),
  ),
];

export function steerMap({ digit }: FamilyText): NftText {
  return nft`steer${digit}`;
}

/**
 * Before everything else that looks at frames. What is for another host is flooded by switches; a frame with a VLAN
 * tag belongs to the VLAN's own interface.
 */
export function ingressChain(device: InterfaceName): ChainObject {
  return {
    kind: 'chain',
    name: nft`ingress-${hash32(device)}`,
    hook: nft`type filter hook ingress device "${device}" priority -500`,
    rules: [nft`meta pkttype host ether type != { 8021q, 8021ad } goto steer`],
  };
}

function unfragmented({ ip }: FamilyText): NftText {
  return ip === 'ip' ? nft`ip frag-off & 0x3fff == 0` : nft`exthdr frag missing`;
}

/** A TCP segment in the midst of a connection that this node does not know: `invalid` with nf_conntrack_tcp_loose=0. */
export const UNKNOWN_SEGMENT = nft`meta l4proto tcp ct state new,invalid tcp flags & syn == 0`;

/** What a passing table holds whatever the plan is. */
export function passingSkeleton(family: FamilyText): readonly TableObject[] {
  const { ip, address } = family;
  const key = packetKey(family);
  return [
    MEMBERS,
    set(nft`interfaces`, nft`type ifname`),
    set(nft`vips`, nft`type ${address}`),
    { kind: 'map', name: nft`senders`, spec: nft`type ether_addr : verdict` },
    { kind: 'map', name: nft`errors`, spec: nft`type ifname : verdict` },
    verdictsByKey(nft`service`, family),
    chain(SENDER_CHAIN, nft`ether saddr vmap @senders`),
    chain(nft`from-member`, nft`${UNKNOWN_SEGMENT} ${key} vmap @service`, nft`accept`),
    {
      ...chain(
        nft`passing`,
        nft`${ip} dscp ${PASSED_ON} accept`,
        nft`iifname . ether saddr @members goto from-member`,
        nft`iifname @interfaces ${key} vmap @service`,
        // Of a connection that is not known here: whoever knows it takes it, the others drop it.
        nft`iifname @interfaces ct state invalid ${errorTypes(family)} ${ip} daddr @vips limit rate 1000/second iifname vmap @errors`,
      ),
      hook: nft`type filter hook prerouting priority -191`,
    },
  ];
}

export const SENDER_CHAIN = nft`sender`;

function errorTypes({ ip }: FamilyText): NftText {
  return ip === 'ip'
    ? nft`icmp type { destination-unreachable, time-exceeded, parameter-problem }`
    : nft`icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }`;
}

/** Rules that send the packet to a node, which must not pass it on, and end its way here. */
export function passOn({ ip }: FamilyText, to: NftText): NftText[] {
  return [nft`${ip} dscp set ${PASSED_ON}`, nft`dup to ${to}`, nft`drop`];
}

/** The same; but to the node of its slot a client's packet goes as the ingress would have sent it, not marked. */
export function steerOn({ ip }: FamilyText, to: NftText): NftText[] {
  return [nft`iifname . ether saddr @members ${ip} dscp set ${PASSED_ON}`, nft`dup to ${to}`, nft`drop`];
}

/** The slot of a packet's client: see `slotOf`. */
export function slotExpression({ ip }: FamilyText, byClient: boolean): NftText {
  const client = byClient ? nft`${ip} saddr` : nft`${ip} saddr . th sport`;
  return nft`jhash ${client} mod ${SLOTS} seed ${HASH_SEED}`;
}

function verdictsByKey(name: NftText, { address }: FamilyText): SetObject {
  return { kind: 'map', name, spec: nft`type ${address} . inet_proto . inet_service : verdict` };
}

function set(name: NftText, spec: NftText): SetObject {
  return { kind: 'set', name, spec };
}

function chain(name: NftText, ...rules: readonly NftText[]): ChainObject {
  return { kind: 'chain', name, rules };
}
