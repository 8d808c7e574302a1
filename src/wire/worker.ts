import { randomFillSync } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { nodeSchedule } from '../../bgp/bfd/transport.ts';
import { linuxNetwork } from '../../bgp/bfd/transport-linux.ts';
import { type MonotonicNs, monotonicClock, NS_PER_MS } from '../../net/clock.ts';
import { formatProblem } from '../../net/result.ts';
import { makeThreadUrgent } from '../../sys/scheduling.ts';
import { BfdSection } from './bfd.ts';
import { WireLoop } from './loop.ts';
import { COUNTERS, type CounterName, type FromWire, type ToWire, type WireInit } from './protocol.ts';
import { openSegment } from './sockets.ts';

/** The worker's thin entry: sockets, timer and port around the loop. */
function start(port: NonNullable<typeof parentPort>): void {
  const init = workerData as WireInit;
  const counters = new BigInt64Array(init.counters);
  const index = new Map<CounterName, number>(COUNTERS.map((name, i) => [name, i]));
  const count = (counter: CounterName) => void Atomics.add(counters, index.get(counter) as number, 1n);
  const post = (message: FromWire) => port.postMessage(message);
  let timer: NodeJS.Timeout | undefined;
  const loop: WireLoop = new WireLoop(init, {
    now: () => monotonicClock.now(),
    random: secureRandom,
    post,
    count,
    open: (segment, segmentLoop) =>
      openSegment(segment, init.heartbeatPort, {
        onArp: (frame) => segmentLoop.onArp(frame),
        onNdp: (frame) => segmentLoop.onNdp(frame),
        onDatagram: (bytes) => {
          segmentLoop.onDatagram(bytes);
          loop.schedule();
        },
        onTrouble: (message) => post({ type: 'segmentFailed', segment: segment.interface, message }),
      }),
    wakeAt(at: MonotonicNs) {
      clearTimeout(timer);
      timer = setTimeout(() => loop.run(), Math.max(0, (at - monotonicClock.now()) / NS_PER_MS));
    },
    kill: () => process.kill(process.pid, 'SIGKILL'),
  });
  const bfd = new BfdSection(
    { network: linuxNetwork, schedule: nodeSchedule, clock: monotonicClock, random: secureRandom },
    post,
  );
  port.on('message', (message: ToWire) => {
    if (message.type === 'end') {
      clearTimeout(timer);
      loop.close();
      bfd.close();
      port.close();
    } else if (message.type === 'section' && message.section === 'bfd') bfd.receive(message);
    else loop.receive(message);
  });
  const urgent = makeThreadUrgent();
  if (urgent.problem !== undefined) {
    post({ type: 'log', level: 'info', message: formatProblem(urgent.problem), fields: {} });
  }
  post({ type: 'ready' });
}

function secureRandom(): number {
  const [high = 0, low = 0] = randomFillSync(new Uint32Array(2));
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

if (parentPort === null) throw new Error('the wire runs as a worker thread');
start(parentPort);
