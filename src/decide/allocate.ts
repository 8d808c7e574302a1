import { familyOf, type IpFamily, ipFromBigInt } from '../../net/ip.ts';
import type { Vip } from '../../net/names.ts';
import { type AddressRange, addressBits, rangeContains, rangeSize } from '../../net/prefix.ts';
import { hash32 } from '../../net/rendezvous.ts';
import { Table } from '../../net/table.ts';
import type { RouteKey } from '../world/keys.ts';

export interface AllocationRequest {
  readonly key: RouteKey;
  readonly namespace: string;
  /** Milliseconds since the epoch; the oldest wins, then the key. */
  readonly created: number;
  readonly pool: string | undefined;
  /** Wanted addresses, at most one per family. */
  readonly addresses: readonly Vip[];
  readonly ipFamilyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
}

export interface AllocationPool {
  readonly name: string;
  readonly ranges: readonly AddressRange[];
  readonly avoidBuggyAddresses: boolean;
  readonly autoAssign: boolean;
  /** Pools of lower priority value are tried first. */
  readonly priority: number;
  readonly sharing: 'Namespace' | 'Cluster';
  readonly admits: (namespace: string) => boolean;
}

/** What a route holds already. `live` pins are in force: a speaker announces them now, or the coordinator wrote them. */
export interface Pin {
  readonly addresses: readonly Vip[];
  readonly live: boolean;
}

export interface AllocationInput {
  /** A follower of the coordinator gives no address: routes have what is pinned, and keep what they had. */
  readonly assigns: boolean;
  readonly requests: Table<RouteKey, AllocationRequest>;
  /** Accepted pools, which do not overlap. */
  readonly pools: readonly AllocationPool[];
  readonly pins: Table<RouteKey, Pin>;
  /** Addresses that may not be given to a route that does not hold them, with the reason in words. */
  readonly excluded: ReadonlyMap<Vip, string>;
  /** Addresses that a stranger answers for: taken even from an auto-assigned route that holds them. */
  readonly quarantined: ReadonlyMap<Vip, string>;
}

export interface AssignedAddress {
  readonly vip: Vip;
  readonly pool: string;
}

export interface AllocationFailure {
  readonly reason: 'AddressNotAssigned' | 'AddressNotUsable';
  readonly message: string;
}

export interface RouteAddresses {
  readonly assigned: readonly AssignedAddress[];
  readonly failure: AllocationFailure | undefined;
}

export interface Allocation {
  readonly input: AllocationInput;
  readonly routes: Table<RouteKey, RouteAddresses>;
  readonly holders: Table<Vip, readonly RouteKey[]>;
  /** Routes that lack an address they want: tried again whenever anything changes. */
  readonly waiting: ReadonlySet<RouteKey>;
}

export function emptyAllocation(): Allocation {
  return {
    input: {
      assigns: true,
      requests: Table.empty(),
      pools: [],
      pins: Table.empty(),
      excluded: new Map(),
      quarantined: new Map(),
    },
    routes: Table.empty(),
    holders: Table.empty(),
    waiting: new Set(),
  };
}

/**
 * Gives each request its addresses: what it holds already is kept while a pool that admits it still has it; then
 * explicit requests, then free addresses of a pool in the route's own order, the oldest route first in each step.
 * Work is in proportion to what changed since `previous`; the answer is the same as from an empty `previous`
 * whose pins are what `previous` had assigned.
 */
export function allocate(previous: Allocation, input: AllocationInput): Allocation {
  const dirty = dirtyRoutes(previous, input);
  if (dirty.size === 0) return previous.input === input ? previous : { ...previous, input };
  return new Round(previous, input, dirty).run();
}

function dirtyRoutes(previous: Allocation, input: AllocationInput): Set<RouteKey> {
  const before = previous.input;
  const surroundings = ['assigns', 'pools', 'excluded', 'quarantined'] as const;
  if (surroundings.some((part) => input[part] !== before[part])) {
    return new Set([...input.requests.keys(), ...before.requests.keys()]);
  }
  const dirty = new Set<RouteKey>();
  for (const { key } of input.requests.changes(before.requests)) dirty.add(key);
  for (const { key, after } of input.pins.changes(before.pins)) {
    if (after === undefined || !input.requests.has(key)) continue;
    if (agrees(previous.routes.get(key), after, input.assigns)) continue;
    dirty.add(key);
    // Who holds the address by less than that may lose it.
    for (const vip of after.addresses) for (const holder of previous.holders.get(vip) ?? []) dirty.add(holder);
  }
  if (dirty.size > 0) for (const key of previous.waiting) dirty.add(key);
  return dirty;
}

/** Who assigns may have given more than is pinned yet. */
function agrees(route: RouteAddresses | undefined, { addresses }: Pin, assigns: boolean): boolean {
  if (route === undefined || (!assigns && route.assigned.length !== addresses.length)) return false;
  return addresses.every((vip) => route.assigned.some((held) => held.vip === vip));
}

/** One pass over the dirty routes. Its maps are edits to be laid over the previous allocation. */
class Round {
  readonly #previous: Allocation;
  readonly #input: AllocationInput;
  readonly #requests: readonly AllocationRequest[];
  readonly #dirty: ReadonlySet<RouteKey>;
  readonly #assigned = new Map<RouteKey, AssignedAddress[]>();
  readonly #failures = new Map<RouteKey, AllocationFailure>();
  readonly #holders = new Map<Vip, readonly RouteKey[]>();

  constructor(previous: Allocation, input: AllocationInput, dirty: ReadonlySet<RouteKey>) {
    this.#previous = previous;
    this.#input = input;
    this.#dirty = dirty;
    this.#requests = Array.from(dirty, (key) => input.requests.get(key))
      .filter((request) => request !== undefined)
      .sort(oldestFirst);
  }

  run(): Allocation {
    for (const key of this.#dirty) this.#release(key);
    const held = (request: AllocationRequest) => this.#heldBefore(request);
    // A claim that is announced now outranks what only memory says.
    for (const request of this.#requests)
      if (this.#input.pins.get(request.key)?.live) this.#keep(request, held(request));
    for (const request of this.#requests)
      if (!this.#input.pins.get(request.key)?.live) this.#keep(request, held(request));
    if (this.#input.assigns) {
      for (const request of this.#requests) this.#takeWanted(request);
      for (const request of this.#requests) this.#takeFree(request);
    } else {
      for (const request of this.#requests) this.#await(request);
    }
    return this.#result();
  }

  #release(key: RouteKey): void {
    for (const { vip } of this.#previous.routes.get(key)?.assigned ?? []) {
      this.#holders.set(
        vip,
        this.#holdersOf(vip).filter((holder) => holder !== key),
      );
    }
  }

  #heldBefore(request: AllocationRequest): readonly Vip[] {
    const pin = this.#input.pins.get(request.key);
    const before = this.#previous.routes.get(request.key)?.assigned.map(({ vip }) => vip) ?? [];
    return pin?.live ? pin.addresses : [...before, ...(pin?.addresses ?? [])];
  }

  #keep(request: AllocationRequest, addresses: readonly Vip[]): void {
    for (const vip of addresses) {
      const pool = this.#poolOf(vip, request);
      const stillWanted = request.addresses.length === 0 || request.addresses.includes(vip);
      if (!pool || !stillWanted || !this.#wantsFamily(request, familyOf(vip))) continue;
      if (this.#input.assigns && request.addresses.length === 0 && this.#input.quarantined.has(vip)) continue;
      if (this.#sharingProblem(request, vip, pool) === undefined) this.#give(request, vip, pool);
    }
  }

  #await(request: AllocationRequest): void {
    if (this.#assigned.has(request.key)) return;
    const where = 'see the conditions of the route in the Kubernetes API';
    this.#fail(request, 'AddressNotAssigned', `the coordinator has given it no address; ${where}`);
  }

  #takeWanted(request: AllocationRequest): void {
    for (const vip of request.addresses) {
      if (this.#has(request, vip)) continue;
      const why = this.#whyNot(request, vip);
      if (why !== undefined) this.#fail(request, 'AddressNotUsable', why);
      else this.#give(request, vip, this.#poolOf(vip, request) as AllocationPool);
    }
  }

  #takeFree(request: AllocationRequest): void {
    if (request.addresses.length > 0) return;
    const pools = this.#poolsFor(request);
    if (pools.length === 0) {
      if (!this.#assigned.has(request.key)) this.#fail(request, 'AddressNotAssigned', this.#whyNoPool(request));
      return;
    }
    for (const family of this.#missingFamilies(request, pools)) {
      const found = this.#firstFree(request, pools, family);
      if (found) this.#give(request, found.vip, found.pool);
      else if (request.ipFamilyPolicy !== 'PreferDualStack' || !this.#assigned.has(request.key)) {
        const names = pools.map((pool) => pool.name).join(', ');
        const what = `no free ${family} address in ${pools.length === 1 ? 'pool' : 'pools'} ${names}`;
        this.#fail(request, 'AddressNotAssigned', `${what}; add addresses to the pool or free some`);
      }
    }
  }

  /** Families that the policy asks for and the route does not have, those of the pools' first ranges first. */
  #missingFamilies(request: AllocationRequest, pools: readonly AllocationPool[]): IpFamily[] {
    const held = (this.#assigned.get(request.key) ?? []).map(({ vip }) => familyOf(vip));
    const offered = [...new Set(pools.flatMap((pool) => pool.ranges.map((range) => range.family)))];
    switch (request.ipFamilyPolicy) {
      case 'SingleStack':
        return held.length > 0 ? [] : offered.slice(0, 1);
      case 'PreferDualStack':
        return offered.filter((family) => !held.includes(family));
      case 'RequireDualStack':
        return (['IPv4', 'IPv6'] as const).filter((family) => !held.includes(family));
    }
  }

  #firstFree(request: AllocationRequest, pools: readonly AllocationPool[], family: IpFamily) {
    for (const pool of pools) {
      const ranges = pool.ranges.filter((range) => range.family === family);
      for (const vip of addressOrder(request.key, ranges)) {
        const free =
          this.#holdersOf(vip).length === 0 && !this.#input.excluded.has(vip) && !this.#input.quarantined.has(vip);
        if (free && !(pool.avoidBuggyAddresses && isBuggy(vip))) return { vip, pool };
      }
    }
    return undefined;
  }

  #whyNot(request: AllocationRequest, vip: Vip): string | undefined {
    const pool = this.#input.pools.find((candidate) => candidate.ranges.some((range) => rangeContains(range, vip)));
    if (!pool) return `${vip} is in no accepted AddressPool; add it to one or ask for another address`;
    if (request.pool !== undefined && pool.name !== request.pool) {
      return `${vip} is in pool ${pool.name}, not in ${request.pool}; change spec.addressPool or spec.addresses`;
    }
    if (!pool.admits(request.namespace)) {
      return `pool ${pool.name} does not admit namespace ${request.namespace}; add it to the pool's spec.allow`;
    }
    const excluded = this.#input.excluded.get(vip) ?? this.#input.quarantined.get(vip);
    if (excluded !== undefined) return `${vip} ${excluded}`;
    const rival = (this.#assigned.get(request.key) ?? []).find((held) => familyOf(held.vip) === familyOf(vip));
    if (rival) return `${rival.vip} is already this route's ${familyOf(vip)} address`;
    return this.#sharingProblem(request, vip, pool);
  }

  #sharingProblem(request: AllocationRequest, vip: Vip, pool: AllocationPool): string | undefined {
    const others = this.#holdersOf(vip).filter((holder) => holder !== request.key);
    const stranger = others.find((holder) => namespaceOf(holder) !== request.namespace);
    if (stranger !== undefined && pool.sharing === 'Namespace') {
      return `${vip} is held by ${stranger} in another namespace; set spec.sharing of pool ${pool.name} to Cluster or ask for another address`;
    }
    // A route that shared its address by request keeps it when the request goes: nobody is moved for that.
    const before = this.#previous.holders.get(vip) ?? [];
    const shared = before.includes(request.key) && others.every((holder) => before.includes(holder));
    const joined = others.some((holder) => this.#input.requests.get(holder)?.addresses.includes(vip));
    const welcome = others.length === 0 || shared || joined || request.addresses.includes(vip);
    return welcome ? undefined : `${vip} is held by ${others.join(', ')}`;
  }

  #poolsFor(request: AllocationRequest): AllocationPool[] {
    return this.#input.pools
      .filter((pool) => pool.admits(request.namespace))
      .filter((pool) => (request.pool === undefined ? pool.autoAssign : pool.name === request.pool))
      .sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
  }

  #whyNoPool(request: AllocationRequest): string {
    if (request.pool === undefined) {
      return `no AddressPool with autoAssign admits namespace ${request.namespace}; create one or set spec.addressPool`;
    }
    return this.#input.pools.some((pool) => pool.name === request.pool)
      ? `pool ${request.pool} does not admit namespace ${request.namespace}; add it to the pool's spec.allow`
      : `pool ${request.pool} does not exist or is not accepted; see 'kubectl get addresspools'`;
  }

  #poolOf(vip: Vip, request: AllocationRequest): AllocationPool | undefined {
    return this.#input.pools.find(
      (pool) =>
        (request.pool === undefined || pool.name === request.pool) &&
        pool.admits(request.namespace) &&
        pool.ranges.some((range) => rangeContains(range, vip)),
    );
  }

  #wantsFamily(request: AllocationRequest, family: IpFamily): boolean {
    const held = this.#assigned.get(request.key) ?? [];
    const single = request.ipFamilyPolicy === 'SingleStack' && request.addresses.length === 0;
    return single ? held.length === 0 : !held.some(({ vip }) => familyOf(vip) === family);
  }

  #has(request: AllocationRequest, vip: Vip): boolean {
    return this.#assigned.get(request.key)?.some((held) => held.vip === vip) ?? false;
  }

  #holdersOf(vip: Vip): readonly RouteKey[] {
    return this.#holders.get(vip) ?? this.#previous.holders.get(vip) ?? [];
  }

  #give(request: AllocationRequest, vip: Vip, pool: AllocationPool): void {
    this.#assigned.set(request.key, [...(this.#assigned.get(request.key) ?? []), { vip, pool: pool.name }]);
    this.#holders.set(vip, [...this.#holdersOf(vip), request.key]);
  }

  #fail(request: AllocationRequest, reason: AllocationFailure['reason'], message: string): void {
    if (!this.#failures.has(request.key)) this.#failures.set(request.key, { reason, message });
  }

  #result(): Allocation {
    const routes = Array.from(this.#dirty, (key) => [key, this.#routeResult(key)] as const);
    const holders = Array.from(this.#holders, ([vip, keys]) => [vip, keys.length > 0 ? keys : undefined] as const);
    const waiting = new Set([...this.#previous.waiting].filter((key) => !this.#dirty.has(key)));
    for (const key of this.#failures.keys()) waiting.add(key);
    return {
      input: this.#input,
      routes: this.#previous.routes.with(routes),
      holders: this.#previous.holders.with(holders),
      waiting,
    };
  }

  /** The earlier object where nothing differs, so that those who depend on it by identity stay as they are. */
  #routeResult(key: RouteKey): RouteAddresses | undefined {
    if (!this.#input.requests.has(key)) return undefined;
    const failure = this.#failures.get(key);
    const assigned = (this.#assigned.get(key) ?? []).sort(
      (a, b) => addressBits(familyOf(a.vip)) - addressBits(familyOf(b.vip)),
    );
    const before = this.#previous.routes.get(key);
    const same =
      before?.failure?.message === failure?.message &&
      before?.assigned.length === assigned.length &&
      before.assigned.every(({ vip, pool }, i) => vip === assigned[i]?.vip && pool === assigned[i].pool);
    return same ? before : { assigned, failure };
  }
}

export function oldestFirst(
  a: { readonly created: number; readonly key: string },
  b: { readonly created: number; readonly key: string },
): number {
  return a.created - b.created || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

function namespaceOf(key: RouteKey): string {
  return key.slice(0, key.indexOf('/'));
}

/** Cheap routers and old clients mistake .0 and .255 for network and broadcast addresses of any network. */
function isBuggy(vip: Vip): boolean {
  return familyOf(vip) === 'IPv4' && (vip.endsWith('.0') || vip.endsWith('.255'));
}

const PROBES = 32;

/**
 * The addresses of `ranges` in an order of the route's own, the same on every node: pseudo-random probes first,
 * so that routes seldom meet, then all addresses from the last probe on, so that none is missed.
 * A range of more than 2^20 addresses is searched in its first 2^20 alone.
 */
export function* addressOrder(key: RouteKey, ranges: readonly AddressRange[]): Generator<Vip> {
  const sizes = ranges.map((range) => Number(rangeSize(range) < SEARCHED ? rangeSize(range) : SEARCHED));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) return;
  const at = (index: number): Vip => {
    let rest = index % total;
    const i = sizes.findIndex((size) => {
      if (rest < size) return true;
      rest -= size;
      return false;
    });
    const range = ranges[i] as AddressRange;
    return ipFromBigInt(range.first + BigInt(rest), range.family) as Vip;
  };
  let start = 0;
  for (let probe = 0; probe < PROBES; probe++) {
    start = hash32(key, probe) % total;
    yield at(start);
  }
  for (let i = 1; i <= total; i++) yield at(start + i);
}

const SEARCHED = 1n << 20n;
