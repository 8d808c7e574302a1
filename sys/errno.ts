import koffi from 'koffi';
import { type Failure, problem } from '../net/result.ts';

const NAMES = new Map(Object.entries(koffi.os.errno).map(([name, number]) => [number, name]));

/** Name of the calling thread's errno, e.g. `EPERM`. To be read before any other call. */
export function errnoName(): string {
  return errnoText(koffi.errno());
}

export function errnoText(number: number): string {
  return NAMES.get(number) ?? `errno ${number}`;
}

const FIXES: Readonly<Record<string, string>> = {
  EPERM: 'grant the capabilities NET_ADMIN, NET_RAW and NET_BIND_SERVICE, or run as root',
  EACCES: 'grant the capabilities NET_ADMIN, NET_RAW and NET_BIND_SERVICE, or run as root',
  EADDRINUSE: 'another process has this address and port: stop it or choose another',
  EADDRNOTAVAIL: 'the address is not on this node: name one that is',
  ENODEV: 'the interface does not exist: name one that does',
  EMFILE: 'raise the limit of open files',
};

/** The failure of a system call as a problem whose value is the name of its errno. */
export function callFailed(call: string): Failure {
  const name = errnoName();
  return problem(call, name, 'failed', FIXES[name] ?? 'see the manual page of the call');
}
