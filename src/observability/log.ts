import pino, { type Logger as PinoLogger } from 'pino';
import pretty from 'pino-pretty';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** What the rest of the program may do with a logger: it is handed in, never imported. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'auto' | 'json' | 'pretty';
}

/** Logs to stderr: JSON lines for machines, colour and words for a terminal. */
export function createLogger(options: LogOptions): Logger {
  const terminal = process.stderr.isTTY;
  const readable = options.format === 'pretty' || (options.format === 'auto' && terminal);
  // A bundled program cannot load pino-pretty as a transport thread, so it is a synchronous stream.
  const stream = readable
    ? pretty({
        destination: 2,
        sync: true,
        colorize: terminal,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss.l',
      })
    : pino.destination({ dest: 2, sync: true });
  const logger: PinoLogger = pino(
    { level: options.level, base: null, redact: ['password', 'key', '*.password', '*.key'] },
    stream,
  );
  return logger;
}

/** Drops everything: for tests and one-shot commands. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
