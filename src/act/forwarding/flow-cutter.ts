import type { Problem } from '../../../net/result.ts';
import type { StaleFlow } from './flows.ts';
import { type Launcher, runProgram } from './nft-process.ts';
import { type NftText, nft } from './text.ts';

/**
 * Removes conntrack entries of UDP flows whose endpoint has gone, so that their next packet is translated anew.
 * Each cut walks the kernel's whole table: what comes while one runs is gathered for the next, and each is done once.
 */
export class FlowCutter implements AsyncDisposable {
  readonly #launch: Launcher;
  readonly #onProblem: (problem: Problem) => void;
  readonly #queue = new Map<string, StaleFlow>();
  #running: Promise<void> | undefined;

  constructor(launch: Launcher, onProblem: (problem: Problem) => void) {
    this.#launch = launch;
    this.#onProblem = onProblem;
  }

  cut(flows: readonly StaleFlow[]): void {
    for (const flow of flows) this.#queue.set(JSON.stringify(flow), flow);
    if (this.#queue.size > 0) this.#running ??= this.#work();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
  }

  async #work(): Promise<void> {
    for (const [id, flow] of this.#queue) {
      this.#queue.delete(id);
      const { code, problem } = await runProgram(this.#launch, 'conntrack', deletion(flow));
      // Exit code 1: there was no such flow.
      if (problem !== undefined && code !== 1) this.#onProblem(problem);
    }
    this.#running = undefined;
  }
}

function deletion({ vip, port, endpoint }: StaleFlow): NftText[] {
  return [
    [nft`-D`, nft`-p`, nft`udp`],
    [nft`--orig-dst`, nft`${vip}`, nft`--orig-port-dst`, nft`${port}`],
    [nft`--reply-src`, nft`${endpoint.address}`, nft`--reply-port-src`, nft`${endpoint.port}`],
  ].flat();
}
