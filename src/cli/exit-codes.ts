/** Documented in the README; 70 and 78 are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The command did its work and found something wrong, or the daemon does not answer. */
  failed: 1,
  /** The command line cannot be understood. */
  usage: 2,
  /** A bug, or the wire worker ended: the supervisor restarts the daemon. */
  internal: 70,
  /** A flag, a variable or a file that it names is wrong. */
  configuration: 78,
} as const;
