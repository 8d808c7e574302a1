/** Every reason of every condition: docs/conditions.md is made from this list, and nothing else is ever written. */
export const REASONS = {
  Accepted: {
    Accepted: 'The object is valid and is acted upon.',
    Invalid: 'The object is not valid; its last good form, if any, is in force.',
    UnsupportedValue: 'A field has a value that this version does not implement.',
    Overlap: 'The pool overlaps another pool or addresses of pods.',
  },
  ResolvedRefs: {
    ResolvedRefs: 'Every backend was found.',
    BackendNotFound: 'A Service, or the port of one, does not exist.',
    RefNotPermitted: 'A Service of another namespace is named without a ReferenceGrant.',
    UnsupportedProtocol: 'The backend cannot take the protocol.',
  },
  Programmed: {
    Programmed: 'The rules are in the kernel and the VIP is announced.',
    NotAccepted: 'The route is not accepted, so nothing is programmed.',
    AddressNotAssigned: 'No free address could be given.',
    AddressNotUsable: 'The wanted address cannot be given to this route.',
    PortConflict: 'An older route on the same VIP has the port.',
    NotAnnounced: 'No node announces the VIP; the message names each with its reason.',
    NoAnnouncement: 'The pool says neither l2 nor bgp, so nobody may announce.',
    RulesNotInstalled: 'The kernel does not hold the rules.',
    Pending: 'The change is under way.',
  },
  Reachable: {
    Proven: "Another member's probe was answered with the leader's MAC address.",
    NotProven: 'Nobody has probed yet, or there is no other member.',
    Unanswered: "Another member's probe was not answered, or by another MAC address.",
  },
  Conflicted: {
    ForeignAnswer: 'A host that is no member answers for the VIP.',
  },
  HeartbeatsBlocked: {
    NoDatagrams: 'Members answer ARP or NDP but none of our heartbeats: a firewall drops the UDP port.',
  },
  KeyRefused: {
    OtherKey: 'Members do not accept the key that this node signs with.',
  },
  SegmentFailed: {
    SocketsNotOpened: 'The sockets of a segment could not be opened.',
  },
  Unfenced: {
    NoMajority: 'VIPs are answered without the confirmation of a majority.',
  },
} as const;

type Types = typeof REASONS;
export type ConditionType = keyof Types;
export type Reason = { [T in ConditionType]: keyof Types[T] }[ConditionType];

/** A condition without its times: those are the writer's. */
export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

export function condition<T extends ConditionType>(
  type: T,
  status: Condition['status'],
  reason: Extract<keyof Types[T], string>,
  message: string,
): Condition {
  return { type, status, reason: reason as Reason, message };
}
