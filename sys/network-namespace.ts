import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import koffi from 'koffi';
import { ok, type Result } from '../net/result.ts';
import { callFailed } from './errno.ts';

const library = koffi.load(null);

/** Calls that concern namespaces; they act on the calling thread. */
const calls = {
  unshare: library.func('int unshare(int flags)') as (flags: number) => number,
  setns: library.func('int setns(int fd, int type)') as (fd: number, type: number) => number,
  mount: library.func(
    'int mount(const char *source, const char *target, const char *type, unsigned long flags, void *data)',
  ) as (source: string, target: string, type: string, flags: number, data: null) => number,
  umount2: library.func('int umount2(const char *target, int flags)') as (target: string, flags: number) => number,
};

const CLONE_NEWNET = 0x40000000;
const MS_BIND = 0x1000;
const MNT_DETACH = 2;

/** Where iproute2 and container runtimes keep names of network namespaces. */
const FOLDER = '/run/netns';
const OWN = '/proc/thread-self/ns/net';

export function namespacePath(name: string): string {
  return `${FOLDER}/${name}`;
}

export function namespaceExists(name: string): boolean {
  return existsSync(namespacePath(name));
}

/**
 * Makes a network namespace under this name, as `ip netns add` does: it lives on without any process in it.
 * Needs CAP_SYS_ADMIN.
 */
export function createNamespace(name: string): Result<void> {
  const path = namespacePath(name);
  mkdirSync(FOLDER, { recursive: true });
  closeSync(openSync(path, 'w', 0o444));
  const home = openSync(OWN, 'r');
  try {
    const made = calls.unshare(CLONE_NEWNET) < 0 ? callFailed('unshare(CLONE_NEWNET)') : bind(path);
    if (made.problem !== undefined) rmSync(path);
    return made;
  } finally {
    comeHome(home);
  }
}

function bind(path: string): Result<void> {
  return calls.mount(OWN, path, 'none', MS_BIND, null) < 0 ? callFailed(`mount(${path})`) : ok(undefined);
}

/**
 * Runs `work`, which must be synchronous, with this thread in the namespace: sockets that it makes belong there for
 * life, and /proc/sys/net is that of the namespace.
 */
export function inNamespace<T>(name: string, work: () => T): Result<T> {
  let target: number;
  try {
    target = openSync(namespacePath(name), 'r');
  } catch {
    return callFailed(`open(${namespacePath(name)})`);
  }
  const home = openSync(OWN, 'r');
  try {
    return calls.setns(target, CLONE_NEWNET) < 0 ? callFailed(`setns(${name})`) : ok(work());
  } finally {
    closeSync(target);
    comeHome(home);
  }
}

/** The namespace itself lives on for as long as somebody has it open. */
export function removeNamespace(name: string): void {
  calls.umount2(namespacePath(name), MNT_DETACH);
  rmSync(namespacePath(name), { force: true });
}

/** In another namespace than its own the process must not go on. */
function comeHome(home: number): void {
  const returned = calls.setns(home, CLONE_NEWNET);
  closeSync(home);
  if (returned < 0) throw new Error('the thread cannot return to its network namespace');
}
