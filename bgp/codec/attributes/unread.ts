import type { Cursor } from '../../../net/cursor.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { SessionParameters } from '../types.ts';
import type { AttributeCheck } from './attribute.ts';
import { itemsProblem } from './numbers.ts';

const { OPTIONAL, TRANSITIVE } = AttributeFlag;

/** Attributes that are checked, since a malformed one withdraws the route, and then dropped. */
export const UNREAD_ATTRIBUTES: readonly AttributeCheck[] = [
  {
    // RFC 4456 section 8; RFC 7606 section 7.9.
    type: AttributeType.ORIGINATOR_ID,
    name: 'ORIGINATOR_ID',
    flags: OPTIONAL,
    malformed: 'treat-as-withdraw',
    unexpected: fromExternal,
    check: ({ remaining }) => (remaining === 4 ? undefined : `length ${remaining} is not 4`),
  },
  {
    // RFC 4456 section 8; RFC 7606 section 7.10.
    type: AttributeType.CLUSTER_LIST,
    name: 'CLUSTER_LIST',
    flags: OPTIONAL,
    malformed: 'treat-as-withdraw',
    unexpected: fromExternal,
    check: (value) => itemsProblem(value, 4),
  },
  {
    // RFC 5701 section 2; RFC 7606 section 7.15.
    type: AttributeType.IPV6_EXTENDED_COMMUNITIES,
    name: 'IPV6_EXTENDED_COMMUNITIES',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'treat-as-withdraw',
    check: (value) => itemsProblem(value, 20),
  },
  {
    // RFC 9012 section 13.
    type: AttributeType.TUNNEL_ENCAPSULATION,
    name: 'TUNNEL_ENCAPSULATION',
    flags: OPTIONAL | TRANSITIVE,
    malformed: 'treat-as-withdraw',
    check: tunnelProblem,
  },
];

function fromExternal({ peering }: SessionParameters): string | undefined {
  return peering === 'external' ? 'the peer is external' : undefined;
}

/** RFC 9012 section 2: tunnel type and length have two octets each. */
function tunnelProblem(value: Cursor): string | undefined {
  if (value.remaining === 0) return 'it is empty';
  while (value.remaining > 0) {
    const type = value.u16();
    const length = value.u16();
    if (type === undefined || length === undefined) return 'a TLV header is cut short';
    if (value.bytes(length) === undefined) return `the TLV of type ${type} and length ${length} is cut short`;
  }
  return undefined;
}
