import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https, { type AgentOptions, type RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { ok, type Result } from '../../net/result.ts';
import type { ClusterAccess } from './access.ts';
import { type ApiFailure, refused, unreachable } from './failure.ts';

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, e.g. `/api/v1/nodes`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Of the body; JSON where it is absent. */
  readonly contentType?: string;
  /** Milliseconds without a byte after which it has failed. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
}

/** What reaches the API server: one place for authentication, time limits and errors. */
export interface ApiClient {
  /** Access' own namespace. */
  readonly namespace: string;
  /** The whole answer, parsed. */
  json<T>(request: ApiRequest): Promise<Result<T, ApiFailure>>;
  /** The answer as it comes, once its headers are there and say 2xx. */
  stream(request: ApiRequest): Promise<Result<IncomingMessage, ApiFailure>>;
}

const IDLE_MS = 30_000;
/** A page of 100 objects is a megabyte, as a rule; etcd holds no object above 1.5 MB. */
const MAX_ANSWER = 256 << 20;

export function createClient(access: ClusterAccess, userAgent: string): ApiClient {
  return new HttpClient(access, userAgent);
}

class HttpClient implements ApiClient {
  readonly namespace: string;
  readonly #access: ClusterAccess;
  readonly #userAgent: string;
  #agent: http.Agent | https.Agent | undefined;
  #trust: AgentOptions = {};

  constructor(access: ClusterAccess, userAgent: string) {
    this.namespace = access.namespace;
    this.#access = access;
    this.#userAgent = userAgent;
  }

  async json<T>(request: ApiRequest): Promise<Result<T, ApiFailure>> {
    const response = await this.stream(request);
    if (response.problem !== undefined) return response;
    try {
      return ok(JSON.parse(await readAll(response.ok, MAX_ANSWER)) as T);
    } catch (error) {
      return { problem: unreachable(error) };
    }
  }

  async stream(request: ApiRequest): Promise<Result<IncomingMessage, ApiFailure>> {
    try {
      const response = await this.#send(request, await this.#access.options());
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return ok(response);
      const retryAfter = response.headers['retry-after'];
      return { problem: refused(status, await readAll(response, MAX_ANSWER), retryAfter) };
    } catch (error) {
      return { problem: unreachable(error) };
    }
  }

  #send(request: ApiRequest, options: RequestOptions): Promise<IncomingMessage> {
    const { method = 'GET', path, query = {}, body, contentType = 'application/json', idleMs = IDLE_MS } = request;
    const url = new URL(this.#access.server.pathname.replace(/\/$/, '') + path, this.#access.server);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(options.headers as OutgoingHttpHeaders | undefined),
      accept: 'application/json',
      'user-agent': this.#userAgent,
      ...(text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }),
    };
    const { signal } = request;
    const transport = url.protocol === 'http:' ? http : https;
    const agent = options.agent ?? this.#agentFor(url, options);
    return new Promise((resolve, reject) => {
      const sent = transport.request(url, { ...options, method, headers, agent, ...(signal && { signal }) }, resolve);
      // Counts for the answer too: a stream that falls silent is cut.
      sent.setTimeout(idleMs, () => sent.destroy(new Error(`silent for ${idleMs / 1000} s`)));
      sent.once('error', reject);
      sent.end(text);
    });
  }

  /** One agent while certificates stay as they are, so that connections are used again. */
  #agentFor(url: URL, { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }: RequestOptions) {
    const trust = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized };
    if (this.#agent === undefined || !isDeepStrictEqual(trust, this.#trust)) {
      const given = Object.fromEntries(Object.entries(trust).filter(([, value]) => value !== undefined));
      const options = { keepAlive: true, ...given };
      this.#agent = url.protocol === 'http:' ? new http.Agent(options) : new https.Agent(options);
      this.#trust = trust;
    }
    return this.#agent;
  }
}

async function readAll(response: IncomingMessage, limit: number): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) {
    text += chunk as string;
    if (text.length > limit) throw new Error(`an answer of more than ${limit} characters`);
  }
  return text;
}
