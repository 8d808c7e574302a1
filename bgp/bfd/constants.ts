/** RFC 5880 section 4.1. */
export const VERSION = 1;

/** RFC 5881 section 4 and RFC 5883 section 5. */
export const SINGLE_HOP_PORT = 3784;
export const MULTI_HOP_PORT = 4784;
/** RFC 5881 section 4: one of these for each session. */
export const SOURCE_PORTS = { first: 49152, last: 65535 } as const;
/** RFC 5881 section 5: what single-hop packets are sent with, and what they must arrive with. */
export const TTL = 255;

/** Indexed by the two bits of the wire (RFC 5880 section 4.1). */
export const SESSION_STATES = ['AdminDown', 'Down', 'Init', 'Up'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Five bits (RFC 5880 section 4.1); 9 to 31 are reserved. */
export type Diagnostic = number;

export const Diagnostic = {
  NONE: 0,
  DETECTION_TIME_EXPIRED: 1,
  ECHO_FAILED: 2,
  NEIGHBOR_SIGNALED_DOWN: 3,
  FORWARDING_PLANE_RESET: 4,
  PATH_DOWN: 5,
  CONCATENATED_PATH_DOWN: 6,
  ADMINISTRATIVELY_DOWN: 7,
  REVERSE_CONCATENATED_PATH_DOWN: 8,
} as const;

const DIAGNOSTIC_WORDS = [
  'no diagnostic',
  'control detection time expired',
  'echo function failed',
  'neighbor signaled session down',
  'forwarding plane reset',
  'path down',
  'concatenated path down',
  'administratively down',
  'reverse concatenated path down',
] as const;

export function describeDiagnostic(diagnostic: Diagnostic): string {
  return DIAGNOSTIC_WORDS[diagnostic] ?? `reserved diagnostic ${diagnostic}`;
}
