import { type Command, CommanderError, Option } from 'commander';
import { EXIT } from './exit-codes.ts';

export function formatOption(): Option {
  return new Option('-o, --output <format>', 'form of the answer')
    .choices(['table', 'wide', 'json', 'yaml'])
    .default('table');
}

/** Text after the help of a command. */
export function example(command: string): string {
  return `\nExample:\n  ${command}`;
}

/** @returns the exit code: that of the command, or that its line cannot be understood */
export async function parse(program: Command, argv: readonly string[], code: () => number): Promise<number> {
  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code();
}
