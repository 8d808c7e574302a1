import type { KnownObject } from '../api/kinds.ts';

/** One object that appeared, changed or went, whatever the source. */
export interface ObjectChange {
  /** `Kind namespace/name`, as `identify` makes it. */
  readonly id: string;
  /** Undefined: it is gone. */
  readonly object: KnownObject | undefined;
}
