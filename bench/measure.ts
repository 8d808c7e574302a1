import { run } from '../test/harness/command.ts';
import type { Namespace } from '../test/harness/namespace.ts';

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

export function row(name: string, ...cells: readonly string[]): void {
  console.log(name.padEnd(26) + cells.map((cell) => cell.padStart(16)).join(''));
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Kilobytes of the kernel's slabs, which hold sets and rules. */
export async function kernelMemory(): Promise<number> {
  const { stdout } = await run(['grep', '^Slab:', '/proc/meminfo']);
  return Number(/\d+/.exec(stdout)?.[0]);
}

/** Bits a second to an `iperf3 -s`, or with `back` from it. */
export async function throughput(client: Namespace, address: string, back = false): Promise<number> {
  const { stdout } = await client.run(['iperf3', '-J', '-t', '1', '-c', address, ...(back ? ['-R'] : [])]);
  const result = JSON.parse(stdout) as { end: { sum_received: { bits_per_second: number } } };
  return result.end.sum_received.bits_per_second;
}

/** New flows a second, of `generator` (flows.c) to its listener on `port`. */
export async function flowRate(
  client: Namespace,
  generator: string,
  flow: { readonly protocol: 'udp' | 'tcp'; readonly address: string; readonly port: number; readonly count: number },
): Promise<number> {
  const { protocol, address, port, count } = flow;
  const { stdout } = await client.run([generator, protocol, address, String(port), String(count)]);
  const [rate = 0, failed = 0] = stdout.split(' ').map(Number);
  if (failed > count / 100) throw new Error(`${failed} of ${count} ${protocol} flows to ${address} failed`);
  return rate;
}
