import { BfdSpeaker, type SpeakerOptions } from '../../bgp/bfd/speaker.ts';
import type { FromWire, SectionUpdate } from './protocol.ts';
import { SectionReceiver } from './sections.ts';

export type BfdUpdate = Extract<SectionUpdate, { section: 'bfd' }>;

/** Milliseconds between two accounts of the sessions, of which there are at most as many as BGP peers. */
const STATUS_EVERY_MS = 1000;

/** BFD in the wire: its sessions follow the main thread's table. */
export class BfdSection {
  readonly #rows = new SectionReceiver<'bfd'>();
  readonly #speaker: BfdSpeaker;
  readonly #post: (message: FromWire) => void;
  #ticker: NodeJS.Timeout | undefined;

  constructor(options: Omit<SpeakerOptions, 'onEvent'>, post: (message: FromWire) => void) {
    this.#post = post;
    this.#speaker = new BfdSpeaker({ ...options, onEvent: (event) => post({ type: 'bfd', event }) });
  }

  receive(update: BfdUpdate): void {
    const { section, generation } = update;
    const change = this.#rows.apply(update);
    if (change === undefined) {
      this.#post({ type: 'resend', section });
      return;
    }
    // A peer that is configured no more is told; a process that ends says nothing, for it may come back.
    for (const key of change.deletes) this.#speaker.delete(key, 'admin-down');
    for (const [key, spec] of change.upserts) this.#speaker.upsert(key, spec);
    this.#post({ type: 'acknowledge', section, generation });
    this.#ticker ??= setInterval(() => this.#report(), STATUS_EVERY_MS);
  }

  close(): void {
    clearInterval(this.#ticker);
    this.#speaker[Symbol.dispose]();
  }

  #report(): void {
    this.#post({ type: 'bfdStatus', sessions: this.#speaker.status() });
    if (this.#rows.rows.size > 0) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }
}
