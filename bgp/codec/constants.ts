/** RFC 4271 section 4.1, in octets; RFC 8654 section 4 for the extended length. */
export const HEADER_LENGTH = 19;
export const MAX_MESSAGE_LENGTH = 4096;
export const MAX_EXTENDED_MESSAGE_LENGTH = 65_535;

/** What a NOTIFICATION can carry in any session (RFC 4271 section 4.5). */
export const MAX_NOTIFICATION_DATA = MAX_MESSAGE_LENGTH - HEADER_LENGTH - 2;

/** RFC 4271 section 4.2. */
export const BGP_VERSION = 4;

/** What stands in two-octet AS fields for an AS number that needs four (RFC 6793 section 9). */
export const AS_TRANS = 23_456;

/** Message types (RFC 4271 section 4.1; ROUTE-REFRESH: RFC 2918 section 3). */
export const MessageType = {
  OPEN: 1,
  UPDATE: 2,
  NOTIFICATION: 3,
  KEEPALIVE: 4,
  'ROUTE-REFRESH': 5,
} as const;

/** Address families (RFC 4760 section 3; IANA "Address Family Numbers"). */
export const Afi = { IPv4: 1, IPv6: 2 } as const;
/** RFC 4760 section 6. */
export const SAFI_UNICAST = 1;

/** NOTIFICATION error codes. */
export const ErrorCode = {
  /** RFC 4271 section 6.1. */
  MESSAGE_HEADER: 1,
  /** RFC 4271 section 6.2. */
  OPEN: 2,
  /** RFC 4271 section 6.3. */
  UPDATE: 3,
  /** RFC 4271 section 6.5. */
  HOLD_TIMER_EXPIRED: 4,
  /** RFC 4271 section 6.6. */
  FINITE_STATE_MACHINE: 5,
  /** RFC 4271 section 6.7. */
  CEASE: 6,
  /** RFC 7313 section 5. */
  ROUTE_REFRESH: 7,
  /** RFC 9687 section 3.1. */
  SEND_HOLD_TIMER_EXPIRED: 8,
} as const;

/** RFC 4271 section 6.1. */
export const HeaderSubcode = {
  CONNECTION_NOT_SYNCHRONIZED: 1,
  BAD_MESSAGE_LENGTH: 2,
  BAD_MESSAGE_TYPE: 3,
} as const;

/** RFC 4271 section 6.2. */
export const OpenSubcode = {
  UNSPECIFIC: 0,
  UNSUPPORTED_VERSION_NUMBER: 1,
  BAD_PEER_AS: 2,
  BAD_BGP_IDENTIFIER: 3,
  UNSUPPORTED_OPTIONAL_PARAMETER: 4,
  UNACCEPTABLE_HOLD_TIME: 6,
  /** RFC 5492 section 5. */
  UNSUPPORTED_CAPABILITY: 7,
  /** RFC 9234 section 4.2. */
  ROLE_MISMATCH: 11,
} as const;

/** RFC 4271 section 6.3. RFC 7606 leaves 1, 2, 9 and 10 to be sent. */
export const UpdateSubcode = {
  MALFORMED_ATTRIBUTE_LIST: 1,
  UNRECOGNIZED_WELL_KNOWN_ATTRIBUTE: 2,
  MISSING_WELL_KNOWN_ATTRIBUTE: 3,
  ATTRIBUTE_FLAGS_ERROR: 4,
  ATTRIBUTE_LENGTH_ERROR: 5,
  INVALID_ORIGIN_ATTRIBUTE: 6,
  INVALID_NEXT_HOP_ATTRIBUTE: 8,
  OPTIONAL_ATTRIBUTE_ERROR: 9,
  INVALID_NETWORK_FIELD: 10,
  MALFORMED_AS_PATH: 11,
} as const;

/** RFC 6608 section 3. */
export const FsmSubcode = {
  UNSPECIFIED: 0,
  UNEXPECTED_MESSAGE_IN_OPEN_SENT: 1,
  UNEXPECTED_MESSAGE_IN_OPEN_CONFIRM: 2,
  UNEXPECTED_MESSAGE_IN_ESTABLISHED: 3,
} as const;

/** RFC 4486 section 4. */
export const CeaseSubcode = {
  MAXIMUM_NUMBER_OF_PREFIXES_REACHED: 1,
  /** Carries a shutdown communication (RFC 9003 section 2), as ADMINISTRATIVE_RESET does. */
  ADMINISTRATIVE_SHUTDOWN: 2,
  PEER_DECONFIGURED: 3,
  ADMINISTRATIVE_RESET: 4,
  CONNECTION_REJECTED: 5,
  OTHER_CONFIGURATION_CHANGE: 6,
  CONNECTION_COLLISION_RESOLUTION: 7,
  OUT_OF_RESOURCES: 8,
  /** RFC 8538 section 3. */
  HARD_RESET: 9,
  /** RFC 9384 section 3. */
  BFD_DOWN: 10,
} as const;

/** RFC 7313 section 5. */
export const RouteRefreshSubcode = { INVALID_MESSAGE_LENGTH: 1 } as const;

/** Capability codes (RFC 5492). */
export const CapabilityCode = {
  /** RFC 4760 section 8. */
  MULTIPROTOCOL: 1,
  /** RFC 2918 section 2. */
  ROUTE_REFRESH: 2,
  /** RFC 8950 section 4. */
  EXTENDED_NEXT_HOP: 5,
  /** RFC 8654 section 3. */
  EXTENDED_MESSAGE: 6,
  /** RFC 9234 section 4.1. */
  ROLE: 9,
  /** RFC 4724 section 3. */
  GRACEFUL_RESTART: 64,
  /** RFC 6793 section 3. */
  FOUR_OCTET_AS: 65,
  /** RFC 7313 section 3.1. */
  ENHANCED_ROUTE_REFRESH: 70,
} as const;

/** Path attribute type codes. */
export const AttributeType = {
  /** RFC 4271 section 4.3, down to AGGREGATOR. */
  ORIGIN: 1,
  AS_PATH: 2,
  NEXT_HOP: 3,
  MULTI_EXIT_DISC: 4,
  LOCAL_PREF: 5,
  ATOMIC_AGGREGATE: 6,
  AGGREGATOR: 7,
  /** RFC 1997. */
  COMMUNITIES: 8,
  /** RFC 4456 section 8. */
  ORIGINATOR_ID: 9,
  CLUSTER_LIST: 10,
  /** RFC 4760 sections 3 and 4. */
  MP_REACH_NLRI: 14,
  MP_UNREACH_NLRI: 15,
  /** RFC 4360 section 2. */
  EXTENDED_COMMUNITIES: 16,
  /** RFC 6793 section 3. */
  AS4_PATH: 17,
  AS4_AGGREGATOR: 18,
  /** RFC 9012 section 2. */
  TUNNEL_ENCAPSULATION: 23,
  /** RFC 5701 section 2. */
  IPV6_EXTENDED_COMMUNITIES: 25,
  /** RFC 8092 section 3. */
  LARGE_COMMUNITIES: 32,
  /** RFC 9234 section 5. */
  ONLY_TO_CUSTOMER: 35,
} as const;

/** Attribute flags (RFC 4271 section 4.3). */
export const AttributeFlag = { OPTIONAL: 0x80, TRANSITIVE: 0x40, PARTIAL: 0x20, EXTENDED_LENGTH: 0x10 } as const;

/** Optional parameters of an OPEN (RFC 5492 section 4; EXTENDED_LENGTH: RFC 9072 section 2). */
export const ParameterType = { CAPABILITIES: 2, EXTENDED_LENGTH: 255 } as const;
