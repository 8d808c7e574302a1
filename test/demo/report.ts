import { styleText } from 'node:util';

export interface StepResult {
  readonly ok: boolean;
  readonly ms?: number;
  readonly lost?: number;
  readonly detail: string;
}

/** Prints steps as they are seen to work: for people in colour, or as JSON lines for scripts. */
export class Report {
  readonly #json: boolean;
  #failed = 0;

  constructor(json: boolean) {
    this.#json = json;
  }

  get failed(): number {
    return this.#failed;
  }

  heading(text: string): void {
    if (!this.#json) process.stdout.write(`\n${paint('bold', text)}\n`);
  }

  /** Evidence: what a program printed, indented. */
  evidence(command: string, text: string): void {
    if (this.#json) return;
    process.stdout.write(`  ${paint('cyan', `$ ${command}`)}\n`);
    for (const line of text.trimEnd().split('\n')) process.stdout.write(`    ${line}\n`);
  }

  note(text: string): void {
    if (!this.#json) process.stdout.write(`  ${paint('dim', text)}\n`);
  }

  /** Runs one step; a throw is a failed step, and the steps after it still run. */
  async step(name: string, work: () => Promise<StepResult>): Promise<void> {
    let result: StepResult;
    try {
      result = await work();
    } catch (error) {
      result = { ok: false, detail: error instanceof Error ? error.message : String(error) };
    }
    if (!result.ok) this.#failed++;
    if (this.#json) {
      process.stdout.write(`${JSON.stringify({ step: name, ...result })}\n`);
      return;
    }
    const mark = result.ok ? paint('green', 'ok  ') : paint('red', 'FAIL');
    const figures = [
      ...(result.ms === undefined ? [] : [`${result.ms} ms`]),
      ...(result.lost === undefined ? [] : [`${result.lost} lost`]),
    ];
    const shown = figures.length === 0 ? '' : ` ${paint('bold', figures.join(', '))}`;
    process.stdout.write(`  ${mark} ${name}${shown}  ${paint('dim', result.detail)}\n`);
  }
}

function paint(style: Parameters<typeof styleText>[0], text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? styleText(style, text) : text;
}
