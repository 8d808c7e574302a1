import { closeSync, openSync, writeFileSync } from 'node:fs';
import { type Ip, isV6 } from '../../../../net/ip.ts';
import type { InterfaceName } from '../../../../net/names.ts';
import { ok, type Problem, problem, type Result } from '../../../../net/result.ts';
import { AF_INET, AF_INET6 } from '../../../../sys/libc.ts';
import {
  createNamespace,
  inNamespace,
  namespaceExists,
  namespacePath,
  removeNamespace,
} from '../../../../sys/network-namespace.ts';
import { type LinkRecord, RouteControl } from '../../../../sys/route-control.ts';
import { createVeth, deleteLink, dumpAddresses, dumpLinks, dumpRoutes } from '../../../../sys/rtnetlink-requests.ts';
import {
  difference,
  type Part,
  type Reading,
  ROUTE_PROTOCOL,
  readParts,
  removalOf,
  requestFor,
  type Side,
  wantedParts,
} from './arrangement.ts';
import { HOST_DEVICE, INSIDE_DEVICE } from './link.ts';

/** Runs synchronous work with this thread in the node's network namespace. */
export type Enter = <T>(work: () => T) => T;

export interface PrivateNamespaceOptions {
  /** Below /run/netns. */
  readonly name: string;
  readonly enterHost: Enter;
}

/** Settings of the private namespace, below /proc/sys/net. It only passes on what it gets, by the way it came. */
const SYSCTLS = {
  'ipv4/ip_forward': 1,
  'ipv4/conf/all/rp_filter': 0,
  'ipv4/conf/default/rp_filter': 0,
  'ipv4/conf/all/send_redirects': 0,
  'ipv4/conf/default/send_redirects': 0,
} as const;
const SYSCTLS_V6 = { 'ipv6/conf/all/forwarding': 1 } as const;

/** Bytes; where nothing announces. */
const USUAL_MTU = 1500;

type Controls = Readonly<Record<Side, RouteControl>>;
type Devices = Readonly<Record<Side, number>>;

/** The private namespace and the link to it: what is there is kept, what differs is mended. */
export class PrivateNamespace implements Disposable {
  readonly #name: string;
  readonly #enterHost: Enter;
  #host: RouteControl | undefined;
  #inside: RouteControl | undefined;

  constructor({ name, enterHost }: PrivateNamespaceOptions) {
    this.#name = name;
    this.#enterHost = enterHost;
  }

  /** Whether an earlier run, or this one, made it. */
  get exists(): boolean {
    return namespaceExists(this.#name);
  }

  /** VIPs whose packets this node sends in there. */
  routed(): Result<readonly Ip[]> {
    const host = this.#hostControl();
    if (host.problem !== undefined) return host;
    const routes = readRoutes(host.ok);
    return routes.problem === undefined ? ok(routes.ok.flatMap(({ to }) => to ?? [])) : routes;
  }

  /** Opens the namespace, and makes it where there is none. True: it is not the one that was open before. */
  make(): Result<boolean> {
    if (this.#inside !== undefined && this.exists) return ok(false);
    this.#inside?.[Symbol.dispose]();
    this.#inside = undefined;
    const adopted = this.exists ? this.enter(() => RouteControl.open()) : undefined;
    if (adopted?.ok?.ok !== undefined) {
      this.#inside = adopted.ok.ok;
      return ok(true);
    }
    // A name without a namespace is what a container's end may leave.
    const free = removeNamespace(this.#name);
    const made = free.problem === undefined ? createNamespace(this.#name) : free;
    if (made.problem !== undefined) return { problem: refused(made.problem) };
    const opened = this.enter(() => RouteControl.open());
    if (opened.problem !== undefined) return { problem: refused(opened.problem) };
    if (opened.ok.problem !== undefined) return opened.ok;
    this.#inside = opened.ok.ok;
    return ok(true);
  }

  enter<T>(work: () => T): Result<T> {
    return inNamespace(this.#name, work);
  }

  /**
   * Makes the link, addresses and routes what these VIPs need; the namespace must be there.
   * @returns how many things were not as they should be
   */
  connect(vips: readonly Ip[], announcing: readonly InterfaceName[]): Result<number> {
    const host = this.#hostControl();
    if (host.problem !== undefined) return host;
    const inside = this.#inside;
    if (inside === undefined) throw new Error('the namespace is not made');
    const controls = { host: host.ok, inside };
    const settings = this.#configure(vips);
    if (settings.problem !== undefined) return settings;
    const links = controls.host.links(dumpLinks());
    if (links.problem !== undefined) return links;
    const mtu = mtuOf(links.ok, announcing);
    const devices = this.#pair(controls, links.ok, mtu);
    return devices.problem === undefined ? mend(controls, devices.ok, wantedParts(mtu, vips)) : devices;
  }

  /** Removes the namespace with everything in it, and the routes to it. */
  remove(): Result<void> {
    const host = this.#hostControl();
    if (host.problem !== undefined) return host;
    const links = host.ok.links(dumpLinks());
    if (links.problem !== undefined) return links;
    const device = links.ok.find(({ name }) => name === HOST_DEVICE);
    const removed = device && host.ok.change(deleteLink(device.index));
    if (removed?.problem !== undefined) return removed;
    this.#inside?.[Symbol.dispose]();
    this.#inside = undefined;
    return removeNamespace(this.#name);
  }

  [Symbol.dispose](): void {
    this.#inside?.[Symbol.dispose]();
    this.#host?.[Symbol.dispose]();
    this.#inside = undefined;
    this.#host = undefined;
  }

  #hostControl(): Result<RouteControl> {
    if (this.#host !== undefined) return ok(this.#host);
    const opened = this.#enterHost(() => RouteControl.open());
    this.#host = opened.ok;
    return opened;
  }

  #configure(vips: readonly Ip[]): Result<void> {
    const values = { ...SYSCTLS, ...(vips.some(isV6) ? SYSCTLS_V6 : {}) };
    const done = this.enter(() => writeSettings(values));
    if (done.problem !== undefined) return done;
    return done.ok === undefined ? ok(undefined) : { problem: refused(done.ok) };
  }

  /** The two ends, that belong together; made anew where one of them is missing. */
  #pair(controls: Controls, hostLinks: readonly LinkRecord[], mtu: number): Result<Devices> {
    const there = controls.inside.links(dumpLinks());
    if (there.problem !== undefined) return there;
    const host = hostLinks.find(({ name }) => name === HOST_DEVICE);
    const inside = there.ok.find(({ name }) => name === INSIDE_DEVICE);
    if (host && inside && host.peer === inside.index && inside.peer === host.index)
      return ok({ host: host.index, inside: inside.index });
    // The end of a pair takes the other with it.
    for (const [control, link] of [[controls.host, host] as const, [controls.inside, inside] as const]) {
      const gone = link && control.change(deleteLink(link.index));
      if (gone?.problem !== undefined && gone.problem.value !== 'ENODEV') return gone;
    }
    const made = this.#makePair(controls.host, mtu);
    if (made.problem !== undefined) return made;
    const [outer, inner] = [controls.host.links(dumpLinks()), controls.inside.links(dumpLinks())];
    const devices = {
      host: outer.ok?.find(({ name }) => name === HOST_DEVICE)?.index,
      inside: inner.ok?.find(({ name }) => name === INSIDE_DEVICE)?.index,
    };
    if (devices.host === undefined || devices.inside === undefined)
      return problem('', undefined, `somebody removes ${HOST_DEVICE}`, 'find who does: ip monitor link');
    return ok({ host: devices.host, inside: devices.inside });
  }

  #makePair(host: RouteControl, mtu: number): Result<void> {
    const peerNamespace = openSync(namespacePath(this.#name), 'r');
    try {
      return host.change(createVeth({ name: HOST_DEVICE, peer: INSIDE_DEVICE, peerNamespace, mtu }));
    } finally {
      closeSync(peerNamespace);
    }
  }
}

function writeSettings(values: Readonly<Record<string, number>>): Problem | undefined {
  for (const [key, value] of Object.entries(values)) {
    const file = `/proc/sys/net/${key}`;
    try {
      writeFileSync(file, String(value));
    } catch (error) {
      return problem(`write(${file})`, (error as NodeJS.ErrnoException).code, 'failed', '').problem;
    }
  }
  return undefined;
}

function mend(controls: Controls, devices: Devices, wanted: readonly Part[]): Result<number> {
  const found: Part[] = [];
  for (const side of ['host', 'inside'] as const) {
    const reading = read(controls[side], devices[side]);
    if (reading.problem !== undefined) return reading;
    found.push(...readParts(side, reading.ok));
  }
  const { missing, surplus } = difference(wanted, found);
  const requests = [
    ...missing.map((part) => [part.side, requestFor(part, devices[part.side])] as const),
    ...surplus.map((part) => [part.side, removalOf(part, devices[part.side])] as const),
  ];
  for (const [side, request] of requests) {
    const changed = controls[side].change(request);
    if (changed.problem !== undefined) return changed;
  }
  return ok(requests.length);
}

function read(control: RouteControl, device: number): Result<Reading> {
  const links = control.links(dumpLinks());
  if (links.problem !== undefined) return links;
  const link = links.ok.find(({ index }) => index === device);
  if (link === undefined) return problem('', undefined, `interface ${device} has gone`, 'it is made again');
  const addresses = control.addresses(dumpAddresses(device));
  if (addresses.problem !== undefined) return addresses;
  const routes = readRoutes(control);
  if (routes.problem !== undefined) return routes;
  return ok({ link, addresses: addresses.ok, routes: routes.ok.filter((route) => route.device === device) });
}

function readRoutes(control: RouteControl) {
  const v4 = control.routes(dumpRoutes(AF_INET, ROUTE_PROTOCOL));
  if (v4.problem !== undefined) return v4;
  const v6 = control.routes(dumpRoutes(AF_INET6, ROUTE_PROTOCOL));
  return v6.problem === undefined ? ok([...v4.ok, ...v6.ok]) : v6;
}

function mtuOf(links: readonly LinkRecord[], announcing: readonly InterfaceName[]): number {
  const names = new Set<string>(announcing);
  const mtus = links.filter(({ name }) => names.has(name)).map(({ mtu }) => mtu);
  return mtus.length === 0 ? USUAL_MTU : Math.max(...mtus);
}

function refused({ field, value }: Problem): Problem {
  return problem(
    '',
    undefined,
    `forwarding ClusterIP needs a network namespace of its own, which this node refuses: ${field}: ${String(value)}`,
    'apply daemonset/clusterip-forwarding instead of daemonset/base, or use forwarding Endpoints',
  ).problem;
}
