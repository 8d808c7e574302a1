import { chmod, mkdir, unlink } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { ok, problem, type Result } from '../../net/result.ts';

export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

export interface ControlHandlers {
  /** The current status document. */
  readonly status: () => unknown;
  /** `GET /NAME` with its query. */
  readonly views?: Readonly<Record<string, (query: URLSearchParams) => ControlReply>>;
  /** Calls back at each change until the signal aborts. */
  readonly onChange: (listener: () => void, signal: AbortSignal) => void;
  /** `POST /NAME` with an object as body: drain, undrain, rebalance. */
  readonly commands: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => Promise<ControlReply>>>;
}

/** No command needs more; what is longer is refused. */
const MAX_BODY = 64 * 1024;

/**
 * HTTP on a unix socket of mode 0600: `GET /status`, `GET /status?watch` (one JSON document a line at each change),
 * `GET /VIEW`, `POST /COMMAND`. Refuses to take the socket of a daemon that runs; takes over that of one that is gone.
 */
export async function serveControlSocket(
  path: string,
  handlers: ControlHandlers,
  signal: AbortSignal,
): Promise<Result<Server>> {
  if (await answers(path)) {
    const fix = 'stop it first, or give this one another --socket, --node and --state-dir';
    return problem('--socket', path, 'belongs to a signpost that is running', fix);
  }
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await unlink(path).catch(() => undefined);
    const server = createServer((request, response) => void answer(request, response, handlers));
    await listen(server, path);
    await chmod(path, 0o600);
    signal.addEventListener('abort', () => {
      server.close();
      server.closeAllConnections();
    });
    return ok(server);
  } catch (error) {
    return problem(
      '--socket',
      path,
      `cannot be created: ${(error as Error).message}`,
      'name a path in a folder that root may write',
    );
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, handlers: ControlHandlers): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (request.method === 'GET' && url.pathname === '/status') {
    if (url.searchParams.has('watch')) watch(response, handlers);
    else send(response, { status: 200, body: handlers.status() });
    return;
  }
  const view = request.method === 'GET' ? handlers.views?.[url.pathname.slice(1)] : undefined;
  if (view !== undefined) {
    send(response, view(url.searchParams));
    return;
  }
  const command = handlers.commands[url.pathname.slice(1)];
  if (request.method !== 'POST' || command === undefined) {
    send(response, { status: 404, body: { message: `${request.method ?? ''} ${url.pathname} is not known` } });
    return;
  }
  const body = await readObject(request);
  send(
    response,
    body === undefined ? { status: 400, body: { message: 'the body is not a JSON object' } } : await command(body),
  );
}

function send(response: ServerResponse, reply: ControlReply): void {
  response.writeHead(reply.status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(reply.body)}\n`);
}

function watch(response: ServerResponse, handlers: ControlHandlers): void {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  let last = '';
  const write = () => {
    const line = JSON.stringify(handlers.status());
    // A reader that does not keep up misses states between, never the newest.
    if (line === last || response.writableNeedDrain) return;
    last = line;
    response.write(`${line}\n`);
  };
  response.on('drain', write);
  handlers.onChange(write, gone.signal);
  write();
}

async function readObject(request: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  if (length === 0) return {};
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
