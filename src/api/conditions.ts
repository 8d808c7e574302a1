/** What a reason says, and what its reader can do. */
export interface ReasonText {
  readonly meaning: string;
  /** Absent where nothing is wrong. */
  readonly remedy?: string;
}

/** What a condition is about, on which kinds it is set, and which status is the good one. */
export const CONDITIONS = {
  Accepted: { good: 'True', kinds: 'ServiceRoute, AddressPool, BGPPeer', about: 'The object is valid and acted upon.' },
  ResolvedRefs: {
    good: 'True',
    kinds: 'ServiceRoute',
    about: 'Everything that the route names exists and may be used.',
  },
  Programmed: {
    good: 'True',
    kinds: 'ServiceRoute, AddressPool',
    about: 'The rules are in the kernel and the VIP is announced.',
  },
  Reachable: {
    good: 'True',
    kinds: 'ServiceRoute',
    about: "Proven on the wire: the VIP answers with its leader's MAC address.",
  },
  Direct: {
    good: 'True',
    kinds: 'ServiceRoute',
    about: "Packets go unchanged to the endpoints' nodes, as `forwarding: Direct` asks.",
  },
  Conflicted: { good: 'False', kinds: 'ServiceRoute', about: 'A stranger on the LAN answers for a VIP of the route.' },
  StaleRoutes: {
    good: 'False',
    kinds: 'BGPPeer',
    about: 'A router may go on sending to a node that is dead.',
  },
  HeartbeatsBlocked: {
    good: 'False',
    kinds: 'Speaker',
    about: 'Members are there but their heartbeats do not arrive.',
  },
  NameTaken: { good: 'False', kinds: 'Speaker', about: "Another speaker uses this node's name." },
  KeyRefused: { good: 'False', kinds: 'Speaker', about: 'Members refuse what this speaker signs.' },
  SegmentFailed: { good: 'False', kinds: 'Speaker', about: 'The speaker cannot take part on a LAN segment.' },
  Unfenced: {
    good: 'False',
    kinds: 'Speaker',
    about: 'The speaker answers for VIPs without the consent of a majority.',
  },
} as const satisfies Record<string, { good: 'True' | 'False'; kinds: string; about: string }>;

/** Every reason of every condition: docs/conditions.md is made from this list, and nothing else is ever written. */
export const REASONS = {
  Accepted: {
    Accepted: { meaning: 'The object is valid and is acted upon.' },
    Invalid: {
      meaning: 'The object is not valid; its last good form, if any, is in force.',
      remedy: 'Mend the fields that the message names; `signpost validate` says the same before you apply.',
    },
    UnsupportedValue: {
      meaning: 'A field has a value that this version does not implement.',
      remedy: 'Use the value that the message proposes.',
    },
    Overlap: {
      meaning: 'The pool overlaps another pool or addresses of pods.',
      remedy: 'Remove the range that the message names from one of the two; VIPs that are assigned stay.',
    },
  },
  ResolvedRefs: {
    ResolvedRefs: { meaning: 'Every backend was found.' },
    BackendNotFound: {
      meaning: 'A Service, or the port of one, does not exist; connections of its share are refused.',
      remedy: 'Create the Service or correct name, namespace, port and protocol in backendRefs.',
    },
    RefNotPermitted: {
      meaning: 'A Service of another namespace is named without a ReferenceGrant.',
      remedy:
        "Create a ReferenceGrant in the namespace of the Service, from ServiceRoute of the route's namespace to Service.",
    },
    UnsupportedProtocol: {
      meaning: 'The backend cannot take the protocol.',
      remedy: 'Give the Service a port of that protocol or change the rule.',
    },
  },
  Programmed: {
    Programmed: { meaning: 'The rules are in the kernel and the VIP is announced.' },
    NotAccepted: {
      meaning: 'The route is not accepted, so nothing is programmed.',
      remedy: 'See the condition Accepted.',
    },
    AddressNotAssigned: {
      meaning: 'No free address could be given.',
      remedy: 'Add addresses to the pool, let the pool admit the namespace, or name another pool.',
    },
    AddressNotUsable: {
      meaning: 'The wanted address cannot be given to this route.',
      remedy: 'Ask for another address, or end the use that the message names.',
    },
    PortConflict: {
      meaning: 'An older route on the same VIP has the port.',
      remedy: 'Take another port or address, or delete the older route: this one then gets the port at once.',
    },
    NotAnnounced: {
      meaning: 'No node announces the VIP; the message names each with its reason.',
      remedy: 'Bring up the interface, the endpoint or the node that the message names.',
    },
    NoAnnouncement: {
      meaning: 'The pool says neither l2 nor bgp, so nobody may announce.',
      remedy: 'Add `l2: {}` or `bgp` to the spec of the pool.',
    },
    RulesNotInstalled: {
      meaning: 'The kernel does not hold the rules.',
      remedy: 'See the message for the error of the kernel; the daemon goes on trying.',
    },
    Pending: { meaning: 'The change is under way.' },
  },
  Reachable: {
    Proven: { meaning: "Another member's probe was answered with the leader's MAC address." },
    NotProven: { meaning: 'Nobody has probed yet, or there is no other member.' },
    Unanswered: {
      meaning: "Another member's probe was not answered, or by another MAC address.",
      remedy: 'Look for a switch, firewall or port security between the member and the leader.',
    },
  },
  Direct: {
    InForce: {
      meaning: "Every VIP of the route is forwarded directly; `signpost status -o yaml` gives the nodes' shares.",
    },
    NotPossible: {
      meaning: 'A VIP goes on in Endpoints mode, for the reason in the message.',
      remedy:
        'Mend what the message names, or set `forwarding: Endpoints`; `Auto` takes Direct where it can without a word.',
    },
  },
  Conflicted: {
    ForeignAnswer: {
      meaning: 'A host that is no member answers for the VIP.',
      remedy: 'Find the host by the MAC address in the message and take the address from it.',
    },
  },
  StaleRoutes: {
    NotKept: { meaning: 'Graceful restart is off, so the router keeps no routes.' },
    WatchedByBFD: { meaning: 'BFD tells the router of a node that is dead.' },
    NoBFD: {
      meaning: 'Graceful restart runs without BFD: a dead node looks like one that restarts.',
      remedy: 'Set `bfd` here and at the router, or a shorter `gracefulRestart.restartTime`, or `enabled: false`.',
    },
  },
  HeartbeatsBlocked: {
    NoDatagrams: {
      meaning: 'Members answer ARP or NDP but none of our heartbeats: a firewall drops the UDP port.',
      remedy: 'Allow UDP 7947 (or the port configured) between the nodes.',
    },
  },
  NameTaken: {
    SameName: {
      meaning: "Another process on the LAN speaks under this node's name.",
      remedy: 'Give each node a name of its own by `--node`, and run one speaker a node.',
    },
  },
  KeyRefused: {
    OtherKey: {
      meaning: 'Members do not accept the key that this node signs with.',
      remedy: 'Give all speakers the same key; during a rotation both, the new one first.',
    },
  },
  SegmentFailed: {
    SocketsNotOpened: {
      meaning: 'The sockets of a segment could not be opened.',
      remedy: 'Give the daemon NET_RAW and NET_ADMIN, and see that no other process has the UDP port.',
    },
  },
  Unfenced: {
    NoMajority: {
      meaning: 'VIPs are answered without the confirmation of a majority.',
      remedy: 'Bring back the other speakers or add a witness; with `fencing: Require` such VIPs stay dark.',
    },
  },
} as const satisfies Record<keyof typeof CONDITIONS, Record<string, ReasonText>>;

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
