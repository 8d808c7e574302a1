import { randomBytes } from 'node:crypto';
import { ok, problem, type Result } from '../../net/result.ts';
import type { ApiClient } from './client.ts';
import { type ApiFailure, describeFailure, isStatus } from './failure.ts';
import { collectionPath, objectPath, type Resource } from './resources.ts';

const SECRETS: Resource = { root: '/api/v1', plural: 'secrets', namespaced: true };
const KEY_BYTES = 32;

interface Secret {
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * The keys of heartbeats between speakers: every entry of the Secret in order of name, so that a second one begins a
 * rotation. The first speaker makes the Secret where it is absent; a template's random would change under GitOps.
 */
export async function sharedKeys(client: ApiClient, name: string): Promise<Result<readonly Uint8Array[]>> {
  const { namespace } = client;
  const read = () => client.json<Secret>({ path: objectPath(SECRETS, { namespace, name }) });
  let secret = await read();
  if (isStatus(secret.problem, 404)) {
    const made = await client.json<Secret>({
      method: 'POST',
      path: collectionPath(SECRETS, namespace),
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        data: { 'key-1': randomBytes(KEY_BYTES).toString('base64') },
      },
    });
    // Another speaker was first: its key counts.
    secret = isStatus(made.problem, 409) ? await read() : made;
  }
  if (secret.problem !== undefined) return unreadable(name, secret.problem);
  const entries = Object.entries(secret.ok.data ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const keys = entries.map(([, text]) => Buffer.from(text, 'base64'));
  if (keys.length === 0 || keys.length > 2 || keys.some((key) => key.length < KEY_BYTES)) {
    const fix = `give it one entry, or two during a rotation, of at least ${KEY_BYTES} random bytes`;
    return problem(`Secret ${namespace}/${name}`, undefined, 'does not hold keys of heartbeats', fix);
  }
  return ok(keys);
}

/** One entry of a Secret in our own namespace, such as the password of a BGP session. */
export async function secretEntry(client: ApiClient, name: string, key: string): Promise<Result<Uint8Array>> {
  const { namespace } = client;
  const secret = await client.json<Secret>({ path: objectPath(SECRETS, { namespace, name }) });
  if (secret.problem !== undefined) return unreadable(name, secret.problem);
  const text = secret.ok.data?.[key];
  if (text !== undefined) return ok(Buffer.from(text, 'base64'));
  return problem(`Secret ${namespace}/${name}`, undefined, `has no entry ${key}`, `add it: the password under ${key}`);
}

function unreadable(name: string, failure: ApiFailure): Result<never> {
  const fix = isStatus(failure, 404) ? 'create it' : 'apply the Role of the speakers and its binding';
  return problem(`Secret ${name}`, undefined, `cannot be read: ${describeFailure(failure)}`, fix);
}
