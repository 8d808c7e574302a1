import { type MonotonicNs, ms } from '../../net/clock.ts';
import type { InterfaceName, Vip } from '../../net/names.ts';
import type { Result } from '../../net/result.ts';
import type { BfdUpdate } from './bfd.ts';
import type { CounterName, FromWire, Segment, ToWire, WireInit, WireVip } from './protocol.ts';
import { SectionReceiver } from './sections.ts';
import { SegmentLoop, type SegmentPort } from './segment.ts';

/** What the loop needs of the outside: sockets, a clock, a way to the main thread. */
export interface WireShell {
  readonly now: () => MonotonicNs;
  readonly random: () => number;
  readonly post: (message: FromWire) => void;
  readonly count: (counter: CounterName) => void;
  /** Opens the sockets of a segment; what they receive goes into the loop. Disposing closes them. */
  readonly open: (segment: Segment, loop: SegmentLoop) => Result<SegmentPort & Disposable>;
  /** Calls `run` at that time, instead of at the time asked for before. */
  readonly wakeAt: (at: MonotonicNs) => void;
  /** Ends the process at once: the main thread is gone for good. */
  readonly kill: () => void;
}

interface Attached {
  readonly loop: SegmentLoop;
  port: (SegmentPort & Disposable) | undefined;
  /** What the sockets were opened for; they are opened anew when it changes. */
  opened: string;
  retryAt: MonotonicNs | undefined;
}

/** The main thread is silent: from here no new claim, from there it is given up. */
const STALLED_AFTER = ms(10_000);
const GIVE_UP_AFTER = ms(60_000);
const LEAVE_WITHIN = ms(1000);
const REOPEN_AFTER = ms(1000);

/** The wire: one `SegmentLoop` a segment, fed by the main thread's tables. */
export class WireLoop {
  readonly #init: WireInit;
  readonly #shell: WireShell;
  readonly #segments = new SectionReceiver<'segments'>();
  readonly #vips = new SectionReceiver<'vips'>();
  readonly #attached = new Map<InterfaceName, Attached>();
  #keys: readonly Uint8Array[];
  #aliveAt: MonotonicNs;
  #stalled = false;
  #givingUpSince: MonotonicNs | undefined;
  #leaving = false;
  #leftTold = false;

  constructor(init: WireInit, shell: WireShell) {
    this.#init = init;
    this.#keys = init.keys;
    this.#shell = shell;
    this.#aliveAt = shell.now();
  }

  receive(message: Exclude<ToWire, BfdUpdate | { readonly type: 'end' }>): void {
    this.#aliveAt = this.#shell.now();
    switch (message.type) {
      case 'section':
        this.#update(message);
        break;
      case 'command':
        if (message.command.type === 'leave') this.#leaving = true;
        for (const { loop } of this.#attached.values()) loop.command(message.command);
        break;
      case 'keys':
        this.#keys = message.keys;
        for (const { loop } of this.#attached.values()) loop.setKeys(message.keys);
        break;
      case 'alive':
        break;
    }
    this.run();
  }

  /** Does what is due and asks to be woken for what is next. */
  run(): void {
    const now = this.#shell.now();
    this.#watchMain(now);
    for (const attached of this.#attached.values()) {
      if (attached.retryAt !== undefined && attached.retryAt <= now) this.#open(attached, this.#rowOf(attached));
      attached.loop.run();
    }
    if (this.#leaving && !this.#leftTold && [...this.#attached.values()].every(({ loop }) => loop.left)) {
      this.#leftTold = true;
      this.#shell.post({ type: 'left' });
    }
    this.schedule();
  }

  /** To be called after anything that was handed to a segment from outside. */
  schedule(): void {
    const times = [...this.#attached.values()].flatMap(({ loop, retryAt }) => [
      loop.nextAt(),
      ...(retryAt === undefined ? [] : [retryAt]),
    ]);
    times.push((this.#shell.now() + ms(1000)) as MonotonicNs);
    this.#shell.wakeAt(times.reduce((a, b) => (a < b ? a : b)));
  }

  close(): void {
    for (const { port } of this.#attached.values()) port?.[Symbol.dispose]();
    this.#attached.clear();
  }

  #update(update: Exclude<Extract<ToWire, { type: 'section' }>, BfdUpdate>): void {
    const applied = update.section === 'segments' ? this.#updateSegments(update) : this.#updateVips(update);
    const { section, generation } = update;
    this.#shell.post(applied ? { type: 'acknowledge', section, generation } : { type: 'resend', section });
  }

  #updateSegments(update: Extract<ToWire, { section: 'segments' }>): boolean {
    const change = this.#segments.apply(update);
    if (change === undefined) return false;
    for (const name of change.deletes) this.#detach(name as InterfaceName);
    for (const [, segment] of change.upserts) this.#attach(segment);
    return true;
  }

  #attach(segment: Segment): void {
    const existing = this.#attached.get(segment.interface);
    if (existing !== undefined) {
      existing.loop.update(segment);
      if (existing.opened !== openedFor(segment)) this.#open(existing, segment);
      return;
    }
    const { now, random, post, count } = this.#shell;
    const loop = new SegmentLoop(segment, { init: { ...this.#init, keys: this.#keys }, now, random, post, count });
    const attached: Attached = { loop, port: undefined, opened: '', retryAt: undefined };
    this.#attached.set(segment.interface, attached);
    this.#open(attached, segment);
    const vips = [...this.#vips.rows.values()].filter((row) => row.interface === segment.interface);
    if (vips.length > 0)
      loop.setVips(
        vips.map((row) => row.entry),
        [],
      );
    if (this.#leaving) loop.command({ type: 'leave' });
  }

  #detach(name: InterfaceName): void {
    this.#attached.get(name)?.port?.[Symbol.dispose]();
    this.#attached.delete(name);
  }

  #open(attached: Attached, segment: Segment | undefined): void {
    attached.port?.[Symbol.dispose]();
    attached.port = undefined;
    attached.retryAt = undefined;
    if (segment === undefined) return;
    attached.opened = openedFor(segment);
    const port = this.#shell.open(segment, attached.loop);
    if (port.problem === undefined) {
      attached.port = port.ok;
    } else {
      const { field, value, message, fix } = port.problem;
      const text = `${field} ${message} (${String(value)}); ${fix}`;
      this.#shell.post({ type: 'segmentFailed', segment: segment.interface, message: text });
      attached.retryAt = (this.#shell.now() + REOPEN_AFTER) as MonotonicNs;
    }
    attached.loop.attach(attached.port);
  }

  #rowOf(attached: Attached): Segment | undefined {
    for (const [name, candidate] of this.#attached) if (candidate === attached) return this.#segments.rows.get(name);
    return undefined;
  }

  #updateVips(update: Extract<ToWire, { section: 'vips' }>): boolean {
    const before = new Map(this.#vips.rows);
    const change = this.#vips.apply(update);
    if (change === undefined) return false;
    const bySegment = new Map<InterfaceName, { upserts: WireVip['entry'][]; deletes: Vip[] }>();
    const of = (name: InterfaceName) => {
      const found = bySegment.get(name) ?? { upserts: [], deletes: [] };
      bySegment.set(name, found);
      return found;
    };
    for (const vip of change.deletes) {
      const row = before.get(vip);
      if (row !== undefined) of(row.interface).deletes.push(vip as Vip);
    }
    for (const [vip, row] of change.upserts) {
      const old = before.get(vip);
      if (old !== undefined && old.interface !== row.interface) of(old.interface).deletes.push(vip as Vip);
      of(row.interface).upserts.push(row.entry);
    }
    for (const [name, { upserts, deletes }] of bySegment) this.#attached.get(name)?.loop.setVips(upserts, deletes);
    return true;
  }

  #watchMain(now: MonotonicNs): void {
    const silence = now - this.#aliveAt;
    const stalled = silence > STALLED_AFTER;
    if (stalled !== this.#stalled) {
      this.#stalled = stalled;
      for (const { loop } of this.#attached.values()) loop.setStalled(stalled);
    }
    if (silence <= GIVE_UP_AFTER) return;
    if (this.#givingUpSince === undefined) {
      this.#givingUpSince = now;
      for (const { loop } of this.#attached.values()) loop.command({ type: 'leave' });
    } else if (now - this.#givingUpSince > LEAVE_WITHIN) {
      this.#shell.kill();
    }
  }
}

function openedFor(segment: Segment): string {
  return `${segment.index} ${segment.address ?? ''}`;
}
