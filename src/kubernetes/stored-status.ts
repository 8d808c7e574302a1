/** The status of an object as the API server has it. */
export interface StoredStatus {
  /** `Kind namespace/name`. */
  readonly id: string;
  /** Undefined: the object is gone. */
  readonly stored: StatusVersion | undefined;
}

export interface StatusVersion {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: unknown;
}
