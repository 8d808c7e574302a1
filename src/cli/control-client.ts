import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { ok, problem, type Result } from '../../net/result.ts';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Asks the daemon behind the control socket. */
export function callDaemon(
  socket: string,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Result<Reply>> {
  return new Promise((resolve) => {
    const call = request({ socketPath: socket, method, path }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', (error) => resolve(unreachable(socket, error)));
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve(
          ok({ status: response.statusCode ?? 0, body: text === '' ? undefined : (JSON.parse(text) as unknown) }),
        );
      });
    });
    call.once('error', (error) => resolve(unreachable(socket, error)));
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** One status document at each change, until the daemon ends or the signal aborts. */
export function watchDaemon(
  socket: string,
  onDocument: (document: unknown) => void,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  return new Promise((resolve) => {
    const call = request({ socketPath: socket, path: '/status?watch', signal }, (response) => {
      const lines = createInterface({ input: response });
      lines.on('line', (line) => onDocument(JSON.parse(line)));
      lines.once('close', () => resolve(ok(undefined)));
    });
    call.once('error', (error) => resolve(signal.aborted ? ok(undefined) : unreachable(socket, error)));
    call.end();
  });
}

function unreachable(socket: string, error: Error): Result<never> {
  const code = (error as NodeJS.ErrnoException).code ?? error.message;
  const why = code === 'EACCES' ? 'may not be opened by this user' : `does not answer (${code})`;
  const fix =
    code === 'EACCES' ? 'run this as root' : "is 'signpost run' running on this node? Name its socket with --socket";
  return problem('--socket', socket, why, fix);
}
