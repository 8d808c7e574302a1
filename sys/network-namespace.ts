import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import koffi from 'koffi';
import { ok, problem, type Result } from '../net/result.ts';
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
  const file = attempt(`open(${path})`, () => {
    mkdirSync(FOLDER, { recursive: true });
    closeSync(openSync(path, 'wx', 0o444));
  });
  if (file.problem !== undefined) return file;
  const leave = () => (calls.unshare(CLONE_NEWNET) < 0 ? callFailed('unshare(CLONE_NEWNET)') : ok(undefined));
  const away = whileAway(leave, () => bind(path));
  const made = away.problem === undefined ? away.ok : away;
  if (made.problem !== undefined) rmSync(path);
  return made;
}

function bind(path: string): Result<void> {
  return calls.mount(OWN, path, 'none', MS_BIND, null) < 0 ? callFailed(`mount(${path})`) : ok(undefined);
}

/**
 * Runs `work`, which must be synchronous, with this thread in the namespace: sockets that it makes belong there for
 * life, and /proc/sys/net is that of the namespace.
 */
export function inNamespace<T>(name: string, work: () => T): Result<T> {
  const target = attempt(`open(${namespacePath(name)})`, () => openSync(namespacePath(name), 'r'));
  if (target.problem !== undefined) return target;
  const leave = () => (calls.setns(target.ok, CLONE_NEWNET) < 0 ? callFailed(`setns(${name})`) : ok(undefined));
  try {
    return whileAway(leave, work);
  } finally {
    closeSync(target.ok);
  }
}

/** The namespace itself lives on for as long as somebody has it open. */
export function removeNamespace(name: string): Result<void> {
  const path = namespacePath(name);
  calls.umount2(path, MNT_DETACH);
  return attempt(`unlink(${path})`, () => rmSync(path, { force: true }));
}

function attempt<T>(call: string, work: () => T): Result<T> {
  try {
    return ok(work());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return problem(call, code, 'failed', 'see the manual page of the call');
  }
}

function whileAway<T>(leave: () => Result<void>, work: () => T): Result<T> {
  const home = openSync(OWN, 'r');
  try {
    const left = leave();
    if (left.problem !== undefined) return left;
    try {
      return ok(work());
    } finally {
      // In another namespace than its own the process must not go on.
      if (calls.setns(home, CLONE_NEWNET) < 0) throw new Error('the thread cannot return to its network namespace');
    }
  } finally {
    closeSync(home);
  }
}
