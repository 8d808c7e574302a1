/** Timed cases run 3 times, and 30 times under `SOAK=1`. */
export const SOAK = process.env['SOAK'] === '1';
export const RUNS = SOAK ? 30 : 3;

/** For `SOAK`: what was measured, beside the verdict. */
export function note(what: string, milliseconds: readonly number[]): void {
  if (!SOAK) return;
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  console.log(`${what}: n ${sorted.length}, median ${at(0.5)}, p90 ${at(0.9)}, max ${sorted.at(-1)} ms`);
}
