import { setTimeout as sleep } from 'node:timers/promises';
import { EchoConnection } from './clients.ts';
import type { Namespace } from './namespace.ts';

const PAUSE_MS = 100;
/** TCP sends a lost segment again after 200 ms, then after 400 ms more. */
const PATIENCE_MS = 5_000;

/** Open TCP connections to a `tcpBackend`, each with a line on its way or echoed ten times a second. */
export class Flows {
  readonly #connections: readonly EchoConnection[];
  readonly #running: Promise<unknown>;
  readonly #failures: string[] = [];
  #ending = false;
  exchanges = 0;

  private constructor(connections: readonly EchoConnection[]) {
    this.#connections = connections;
    this.#running = Promise.all(connections.map((connection) => this.#talk(connection)));
  }

  static async open(from: Namespace, address: string, port: number, count: number): Promise<Flows> {
    const open = () => EchoConnection.open(from, address, port, PATIENCE_MS);
    return new Flows(await Promise.all(Array.from({ length: count }, open)));
  }

  /** @returns why connections ended, one text each: none if all go on */
  async stop(): Promise<readonly string[]> {
    this.#ending = true;
    await this.#running;
    for (const connection of this.#connections) connection.close();
    return this.#failures;
  }

  async #talk(connection: EchoConnection): Promise<void> {
    await sleep(Math.random() * PAUSE_MS);
    try {
      for (let i = 0; !this.#ending; i++) {
        const echoed = await connection.exchange(`line ${i}`, PATIENCE_MS);
        if (echoed !== `line ${i}`) throw new Error(`line ${i} came back as ${echoed}`);
        this.exchanges++;
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      this.#failures.push(String(error));
    }
  }
}
