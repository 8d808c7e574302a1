export interface LoopOptions<State, Event> {
  readonly initial: State;
  readonly reduce: (state: State, event: Event) => State;
  /** Called with the newest state once the events at hand are folded in; never twice for the same state. */
  readonly onChange: (state: State) => void;
  /** Runs a callback after the events that are already queued: setImmediate in the daemon. */
  readonly defer: (callback: () => void) => void;
}

/** Folds events into one state and coalesces them: a burst of a thousand events is one change. */
export class Loop<State, Event> {
  readonly #options: LoopOptions<State, Event>;
  #state: State;
  #told: State;
  #scheduled = false;

  constructor(options: LoopOptions<State, Event>) {
    this.#options = options;
    this.#state = options.initial;
    this.#told = options.initial;
  }

  get state(): State {
    return this.#state;
  }

  readonly dispatch = (event: Event): void => {
    this.#state = this.#options.reduce(this.#state, event);
    if (this.#scheduled || this.#state === this.#told) return;
    this.#scheduled = true;
    this.#options.defer(() => this.#tell());
  };

  #tell(): void {
    this.#scheduled = false;
    if (this.#state === this.#told) return;
    this.#told = this.#state;
    this.#options.onChange(this.#state);
  }
}
