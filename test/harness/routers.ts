import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lab } from './lab.ts';
import type { Namespace } from './namespace.ts';
import { startBird } from './routers/bird.ts';
import { startExabgp } from './routers/exabgp.ts';
import { startFrr } from './routers/frr.ts';
import { startGobgp } from './routers/gobgp.ts';
import { startOpenbgpd } from './routers/openbgpd.ts';
import type { Place, Router, RouterConfig, RouterKind } from './routers/router.ts';

/** What each router can do, for the matrix of the interop tests. */
export const ROUTERS = {
  frr: { bfd: true, passwordOnRange: true, ttlSecurity: true, helper: true, kernel: true },
  bird: { bfd: true, passwordOnRange: true, ttlSecurity: true, helper: true, kernel: true },
  gobgp: { bfd: false, passwordOnRange: false, ttlSecurity: true, helper: true, kernel: false },
  openbgpd: { bfd: false, passwordOnRange: false, ttlSecurity: true, helper: true, kernel: false },
  exabgp: { bfd: false, passwordOnRange: false, ttlSecurity: true, helper: false, kernel: false },
} as const satisfies Record<RouterKind, object>;

const START: Readonly<Record<RouterKind, (place: Place, config: RouterConfig) => Promise<Router>>> = {
  frr: startFrr,
  bird: startBird,
  gobgp: startGobgp,
  openbgpd: startOpenbgpd,
  exabgp: startExabgp,
};

/** Returns when the router answers its CLI. It ends with the lab, and its files go. */
export async function startRouter(
  lab: Lab,
  namespace: Namespace,
  kind: RouterKind,
  config: RouterConfig,
): Promise<Router> {
  const folder = mkdtempSync(join(tmpdir(), `signpost-${kind}-`));
  lab.defer(() => rmSync(folder, { recursive: true, force: true }));
  namespace.sysctl({ 'ipv4.ip_forward': 1, 'ipv6.conf.all.forwarding': 1 });
  return START[kind]({ lab, namespace, folder }, config);
}
