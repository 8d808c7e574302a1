import type { SessionSpec } from '../../bgp/bfd/speaker.ts';
import { describeSpeakerEvent, linuxNetwork } from '../../bgp/index.ts';
import { monotonicClock, NS_PER_MS } from '../../net/clock.ts';
import type { Result } from '../../net/result.ts';
import type { Table } from '../../net/table.ts';
import { Icmpv6Socket } from '../../sys/icmpv6-socket.ts';
import { createBgpSpeaker } from '../act/bgp/library-speaker.ts';
import { RouterDiscovery } from '../act/bgp/router-discovery.ts';
import { BgpActuator } from '../act/bgp.ts';
import type { PasswordRef } from '../decide/bgp/types.ts';
import { isForOthers } from '../decide/bgp.ts';
import type { Logger } from '../observability/log.ts';
import type { Links } from '../world/links.ts';
import type { BgpSession, World } from '../world/types.ts';

export interface BgpPartOptions {
  readonly node: string;
  /** 0: this speaker only connects. */
  readonly port: number;
  /** Milliseconds for which routers have the time to prefer other paths (RFC 8326). */
  readonly drainWait: number;
  readonly log: Logger;
  /** The kernel still had our rules when this process began: peers may go on as before (RFC 4724). */
  readonly restarted: boolean;
  readonly setBfd: (table: Table<string, SessionSpec>) => void;
  readonly readPassword: (ref: PasswordRef) => Promise<Result<string>>;
  readonly links: () => Links;
  readonly onSessions: (sessions: readonly BgpSession[], sent: World['bgpSent']) => void;
}

const TELL_EVERY_MS = 1_000;

/** The BGP actuator with the library's speaker on the network of this host. */
export function startBgp(options: BgpPartOptions): BgpActuator {
  const { log, node } = options;
  const now = () => new Date();
  let telling: NodeJS.Immediate | undefined;
  const tell = () => {
    telling ??= setImmediate(() => {
      telling = undefined;
      options.onSessions(sessionsOf(actuator), actuator.sent);
    });
  };
  const speaker = createBgpSpeaker({
    network: linuxNetwork,
    listenPort: options.port === 0 ? undefined : options.port,
    restarted: options.restarted,
    forwarding: true,
    gracefulShutdownWait: 0,
    onEvent(event) {
      const text = describeSpeakerEvent(event);
      log[event.kind === 'problem' || event.kind === 'malformed' ? 'warn' : 'info']({ peer: event.peer }, text);
      actuator.record(event.peer, text);
      if (event.kind === 'state') actuator.onState(event.peer, event.to);
    },
  });
  const actuator: BgpActuator = new BgpActuator({
    node,
    speaker,
    setBfd: options.setBfd,
    readPassword: options.readPassword,
    findRouter: (device, onRouter) =>
      new RouterDiscovery({
        interface: device,
        onRouter,
        mac: () => [...options.links().byIndex.values()].find(({ name }) => name === device)?.mac,
        open: (socket) => Icmpv6Socket.open(socket),
        now: () => monotonicClock.now() / NS_PER_MS,
      }),
    drainWait: options.drainWait,
    now,
    onChange: tell,
  });
  // Why a peer stays silent becomes known without a change of state.
  setInterval(tell, TELL_EVERY_MS).unref();
  return actuator;
}

function sessionsOf(actuator: BgpActuator): BgpSession[] {
  const { sessions, withoutSession } = actuator.status();
  const running = sessions.map(({ peer, state, lastError, bfd, families }): BgpSession => {
    const reason = state === 'Established' ? undefined : lastError?.text;
    const negotiated = families.filter((family) => family.negotiated).map(({ family }) => family);
    return { peer, state, reason, bfd: bfd?.state, families: negotiated };
  });
  const without = withoutSession
    .filter(({ peer, reason }) => !isForOthers(reason) && sessions.every((session) => session.peer !== peer))
    .map(({ peer, reason }): BgpSession => ({ peer, state: 'Idle', reason, bfd: undefined, families: [] }));
  return [...running, ...without];
}
