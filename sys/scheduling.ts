import { ok, problem, type Result } from '../net/result.ts';
import { errnoText } from './errno.ts';
import { libc, SCHED_RESET_ON_FORK, SCHED_RR } from './libc.ts';

/** Above every ordinary thread, below the kernel's own (50) and whatever else of the node is urgent. */
const PRIORITY = 1;

/**
 * Puts the calling thread before every ordinary thread of the machine (sched(7), SCHED_RR), not the threads that it
 * starts. Needs CAP_SYS_NICE or RLIMIT_RTPRIO. The kernel still leaves others 5 % of each processor.
 */
export function makeThreadUrgent(): Result<undefined> {
  // By pthread and not by sched_setscheduler, which musl refuses.
  const parameters = new Uint8Array(Int32Array.of(PRIORITY).buffer);
  const number = libc.pthread_setschedparam(libc.pthread_self(), SCHED_RR | SCHED_RESET_ON_FORK, parameters);
  if (number === 0) return ok(undefined);
  const fix = 'grant the capability SYS_NICE, where a busy node must not delay heartbeats';
  return problem('pthread_setschedparam', errnoText(number), 'failed', fix);
}
