import type { InterfaceName } from '../../../../net/names.ts';
import { hash32 } from '../../../../net/rendezvous.ts';
import { HASH_SEED } from '../../../decide/direct/client-hash.ts';
import { SLOTS } from '../../../decide/direct/slots.ts';
import { MOST_PASSES, passedOn, passedOnSet } from '../code-points.ts';
import { FAMILIES, type FamilyText } from '../family.ts';
import { packetKey } from '../skeleton.ts';
import type { ChainObject, SetObject, TableObject } from '../table.ts';
import { type NftText, nft } from '../text.ts';

/** Raised whenever the rules of a chain or the type of a set change: tables of another layout are replaced. */
export const LAYOUT = 2;

/** Where frames are steered, before the IP stack sees them. */
export const STEERING = nft`netdev signpost`;

/** Where what reached the wrong node is passed on; `dup` does not exist in `inet`. */
export function passingTable({ ip }: FamilyText): NftText {
  return nft`${ip} signpost-direct`;
}

/** Hardware addresses of the members behind each interface. */
const MEMBERS: SetObject = { kind: 'set', name: nft`members`, spec: nft`type ifname . ether_addr` };

const FROM_MEMBER = nft`iifname . ether saddr @members`;

/** What the STEERING table holds whatever the plan is. */
export const STEERING_SKELETON: readonly TableObject[] = [
  MEMBERS,
  ...FAMILIES.map((family) => verdictsByKey(steerMap(family), family)),
  chain(
    nft`steer`,
    // Somebody chose this node: it is not chosen again.
    nft`${FROM_MEMBER} accept`,
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
    chain(COUNT_DOWN, ...countDown(family)),
    chain(SENDER_CHAIN, nft`ether saddr vmap @senders`),
    chain(nft`from-member`, nft`${UNKNOWN_SEGMENT} ${key} vmap @service`, nft`accept`),
    {
      ...chain(
        nft`passing`,
        nft`${ip} dscp ${passedOn(0)} accept`,
        // Whoever sent it: that nothing loops must not depend on who is known as a member.
        nft`${UNKNOWN_SEGMENT} ${ip} dscp ${passedOnSet()} jump ${COUNT_DOWN}`,
        nft`${FROM_MEMBER} goto from-member`,
        nft`iifname @interfaces ${key} vmap @service`,
        // Of a connection that is not known here: whoever knows it takes it, the others drop it.
        nft`iifname @interfaces ct state invalid ${errorTypes(family)} ${ip} daddr @vips limit rate 1000/second iifname vmap @errors`,
      ),
      hook: nft`type filter hook prerouting priority -191`,
    },
  ];
}

const COUNT_DOWN = nft`count-down`;

function countDown({ ip }: FamilyText): NftText[] {
  return Array.from(
    { length: MOST_PASSES },
    (_, left) => nft`${ip} dscp ${passedOn(left + 1)} ${ip} dscp set ${passedOn(left)} return`,
  );
}

export const SENDER_CHAIN = nft`sender`;

function errorTypes({ ip }: FamilyText): NftText {
  return ip === 'ip'
    ? nft`icmp type { destination-unreachable, time-exceeded, parameter-problem }`
    : nft`icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }`;
}

/** Rules that end a packet's way here and send it to a node as it is. */
export function sendTo(to: NftText): NftText[] {
  return [nft`dup to ${to}`, nft`drop`];
}

/** What happens to packets of the slots of another node. */
export function foreignRules({ ip }: FamilyText, way: Way, steered: boolean, to: NftText): NftText[] {
  const mark = nft`${ip} dscp set ${passedOn(way.passes)}`;
  const again = passAgain(ip, way);
  // From members only unknown segments come here; a client's packet goes on as the ingress would have sent it.
  if (steered) return [...again, nft`${FROM_MEMBER} ${mark} goto ${way.first}`, nft`goto ${to}`];
  return [...again, nft`${UNKNOWN_SEGMENT} ${mark} goto ${way.first}`];
}

/** What happens to packets of the slots of this node. */
export function ownRules({ ip }: FamilyText, way: Way, bySender: boolean): NftText[] {
  const mark = nft`${ip} dscp set ${passedOn(way.passes)}`;
  return [
    ...passAgain(ip, way),
    ...(bySender ? [nft`${UNKNOWN_SEGMENT} ${FROM_MEMBER} ${mark} goto ${SENDER_CHAIN}`] : []),
    nft`${UNKNOWN_SEGMENT} ${mark} goto ${way.first}`,
  ];
}

/** How a segment goes to those who may know its connection. */
export interface Way {
  /** The chain for a segment that nobody has passed on. */
  readonly first: NftText;
  /** The chain for one that was. */
  readonly next: NftText;
  /** How often it may be passed on after the first time. */
  readonly passes: number;
}

/** Counted down already. */
function passAgain(ip: NftText, { next }: Way): NftText[] {
  return [nft`${UNKNOWN_SEGMENT} ${ip} dscp ${passedOnSet(MOST_PASSES - 1)} goto ${next}`];
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
