export interface FuzzOptions {
  readonly seed: number;
  readonly runs: number;
  /** Inputs to begin with. */
  readonly corpus: readonly Uint8Array[];
  /** Called now and then. */
  readonly progress?: (runs: number, corpus: number) => void;
}

export interface FuzzReport {
  readonly runs: number;
  /** One small input for each kind of outcome that was met. */
  readonly corpus: readonly Uint8Array[];
  readonly failure?: FuzzFailure;
}

export interface FuzzFailure {
  /** Number of the run, from 0. */
  readonly run: number;
  readonly input: Uint8Array;
  /** What else decides the outcome. */
  readonly context: string;
  readonly error: unknown;
}

export type FuzzTarget = (options: FuzzOptions) => FuzzReport;
