import { setImmediate as pause } from 'node:timers/promises';
import { familyOf, type Ip } from '../../../net/ip.ts';
import type { Problem, Result } from '../../../net/result.ts';
import type { FlowScope, TrackedFlow } from '../../../sys/conntrack.ts';
import type { StaleFlow } from './flows.ts';

/** The kernel's table of connections; see `Conntrack`. */
export interface FlowTable extends Disposable {
  endUdp(
    scopes: readonly FlowScope[],
    stale: (flow: TrackedFlow) => boolean,
    pause: () => Promise<void>,
  ): Promise<Result<number>>;
}

/** Beyond so many VIP:ports at a time one walk that tells of everything is quicker than one for each. */
const NARROW_SCOPES = 16;

/**
 * Ends UDP flows whose endpoint has gone, so that their next packet is translated anew. Each cut walks the kernel's
 * whole table: what comes while one runs is gathered for the next.
 */
export class FlowCutter implements AsyncDisposable {
  readonly #table: FlowTable | undefined;
  readonly #onProblem: (problem: Problem) => void;
  #queue = new Map<string, StaleFlow>();
  #running: Promise<void> | undefined;

  /** @param table a problem where it cannot be reached: flows then end when they are idle */
  constructor(table: Result<FlowTable>, onProblem: (problem: Problem) => void) {
    this.#table = table.ok;
    this.#onProblem = onProblem;
    if (table.problem !== undefined) onProblem(table.problem);
  }

  cut(flows: readonly StaleFlow[]): void {
    if (this.#table === undefined) return;
    for (const flow of flows) {
      const { vip, port, endpoint } = flow;
      this.#queue.set(idOf(vip, port, endpoint.address, endpoint.port), flow);
    }
    if (this.#queue.size > 0) this.#running ??= this.#work(this.#table);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
    this.#table?.[Symbol.dispose]();
  }

  async #work(table: FlowTable): Promise<void> {
    while (this.#queue.size > 0) {
      const stale = this.#queue;
      this.#queue = new Map();
      const isStale = ({ destination, port, answerer, answererPort }: TrackedFlow) =>
        stale.has(idOf(destination, port, answerer, answererPort));
      const { problem } = await table.endUdp(scopesOf([...stale.values()]), isStale, () => pause());
      if (problem !== undefined) this.#onProblem(problem);
    }
    this.#running = undefined;
  }
}

function idOf(vip: Ip, port: number, answerer: Ip, answererPort: number): string {
  return `${vip} ${port} ${answerer} ${answererPort}`;
}

function scopesOf(flows: readonly StaleFlow[]): FlowScope[] {
  const narrow = new Map(flows.map(({ vip, port }) => [`${vip} ${port}`, { destination: vip, port }]));
  if (narrow.size <= NARROW_SCOPES) return [...narrow.values()];
  const families = new Set(flows.map(({ vip }) => familyOf(vip)));
  return Array.from(families, (family) => ({ family }));
}
