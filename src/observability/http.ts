import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { ok, problem, type Result } from '../../net/result.ts';

export interface HttpPages {
  readonly registry: Registry;
  /** Undefined while the daemon works; else why not. */
  readonly unhealthy: () => string | undefined;
  /** Undefined once the daemon has done its first pass; else what it waits for. */
  readonly unready: () => string | undefined;
  /** Brings gauges that are read from elsewhere up to date before a scrape. */
  readonly refresh: () => void;
  /** `/debug/plan`: the plan with reasons. Holds no secret. */
  readonly plan: () => unknown;
  /** `/`: the status page. */
  readonly page: () => string;
}

/** /metrics, /healthz, /readyz, /debug/plan and the status page, until the signal aborts. */
export function serveHttp(
  address: { readonly host: string; readonly port: number },
  pages: HttpPages,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  const server = createServer((request, response) => {
    void respond(request.url ?? '/', pages).then(({ status, type, body }) => {
      response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  return new Promise((resolve) => {
    const where = `${address.host}:${address.port}`;
    server.once('error', (error) =>
      resolve(
        problem(
          '--metrics',
          where,
          `cannot be served: ${error.message}`,
          'name a free port on an address of this node',
        ),
      ),
    );
    server.listen(address.port, address.host, () => resolve(ok(undefined)));
  });
}

async function respond(url: string, pages: HttpPages): Promise<{ status: number; type: string; body: string }> {
  const text = (status: number, body: string) => ({ status, type: 'text/plain; charset=utf-8', body: `${body}\n` });
  switch (url.split('?')[0]) {
    case '/metrics':
      pages.refresh();
      return { status: 200, type: pages.registry.contentType, body: await pages.registry.metrics() };
    case '/healthz':
      return probe(pages.unhealthy(), text);
    case '/readyz':
      return probe(pages.unready(), text);
    case '/debug/plan':
      return { status: 200, type: 'application/json', body: `${JSON.stringify(pages.plan(), null, 2)}\n` };
    case '/':
      return { status: 200, type: 'text/html; charset=utf-8', body: pages.page() };
    default:
      return text(404, 'not found; see /, /metrics, /healthz, /readyz, /debug/plan');
  }
}

function probe<T>(trouble: string | undefined, text: (status: number, body: string) => T): T {
  return trouble === undefined ? text(200, 'ok') : text(503, trouble);
}
