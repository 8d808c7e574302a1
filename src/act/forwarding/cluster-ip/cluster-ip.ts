import type { InterfaceName, Vip } from '../../../../net/names.ts';
import type { Problem } from '../../../../net/result.ts';
import { Conntrack } from '../../../../sys/conntrack.ts';
import { namespacePath } from '../../../../sys/network-namespace.ts';
import { RulesetGeneration } from '../../../../sys/ruleset-generation.ts';
import type { ForwardingPlan } from '../../../decide/types.ts';
import { FlowCutter } from '../flow-cutter.ts';
import { KernelTable } from '../kernel-table.ts';
import type { Launcher } from '../nft-process.ts';
import { DEFAULT_RULES } from '../skeleton.ts';
import { InsidePlan } from './inside-plan.ts';
import { type Enter, PrivateNamespace } from './private-namespace.ts';

export interface ClusterIpOptions {
  readonly namespace: string;
  readonly enterHost: Enter;
  readonly onDrift: (problem: Problem) => void;
  readonly onProblem: (problem: Problem) => void;
}

/** The table in the private namespace, and what it needs. */
interface Table {
  readonly kernel: KernelTable;
  readonly cutter: FlowCutter;
  readonly generation: RulesetGeneration | undefined;
}

/**
 * Carries the entries of mode ClusterIP. A connection is translated once in each network namespace: VIP:port to
 * ClusterIP:port in a private one, then ClusterIP:port to an endpoint by the cluster's service proxy in the node's.
 */
export class ClusterIp implements AsyncDisposable {
  readonly #options: ClusterIpOptions;
  readonly #private: PrivateNamespace;
  readonly #insidePlan = new InsidePlan();
  #table: Table | undefined;
  #inside: ForwardingPlan | undefined;
  #announcing: readonly InterfaceName[] = [];
  /** What the link and its routes were last found to be right for. */
  #connected: { readonly vips: ForwardingPlan['vips']; readonly announcing: readonly InterfaceName[] } | undefined;
  #problem: Problem | undefined;

  constructor(options: ClusterIpOptions) {
    this.#options = options;
    this.#private = new PrivateNamespace({ name: options.namespace, enterHost: options.enterHost });
  }

  /** Why nothing is carried. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** Before the node's table: a packet that is let through there must find its way here. */
  async apply(plan: ForwardingPlan): Promise<void> {
    const routed = this.#routed();
    const inside = this.#insidePlan.of(plan, routed);
    if (inside === this.#inside && plan.announcingInterfaces === this.#announcing && this.#problem === undefined)
      return;
    this.#inside = inside;
    this.#announcing = plan.announcingInterfaces;
    this.#problem = await this.#carry(inside);
  }

  /** Looks whether all of it is still there, and mends it. */
  async verify(): Promise<void> {
    const inside = this.#inside;
    if (inside === undefined || inside.vips.size === 0) return;
    await this.#table?.kernel.verify();
    // Everything is looked at again.
    this.#connected = undefined;
    this.#problem = await this.#carry(inside);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closeTable();
    this.#private[Symbol.dispose]();
  }

  #routed(): readonly Vip[] {
    if (this.#inside !== undefined) return [...this.#inside.vips.keys()];
    // Routes of this maker lead to VIPs, of whichever run.
    return this.#private.exists ? ((this.#private.routed().ok ?? []) as readonly Vip[]) : [];
  }

  async #carry(inside: ForwardingPlan): Promise<Problem | undefined> {
    if (inside.vips.size === 0) return this.#private.exists ? this.#remove() : undefined;
    const made = this.#private.make();
    if (made.problem !== undefined) return made.problem;
    if (made.ok) {
      this.#connected = undefined;
      await this.#openTable();
    }
    const kernel = this.#table?.kernel;
    const failed = kernel?.plan === inside ? undefined : await kernel?.apply(inside);
    // Routes last: what comes by them must find the table.
    return failed ?? this.#connect(inside.vips);
  }

  #connect(vips: ForwardingPlan['vips']): Problem | undefined {
    const announcing = this.#announcing;
    if (this.#connected?.vips === vips && this.#connected.announcing === announcing) return undefined;
    const { problem } = this.#private.connect([...vips.keys()], announcing);
    this.#connected = problem === undefined ? { vips, announcing } : undefined;
    return problem;
  }

  async #remove(): Promise<Problem | undefined> {
    await this.#closeTable();
    return this.#private.remove().problem;
  }

  async #openTable(): Promise<void> {
    await this.#closeTable();
    const { namespace, onDrift, onProblem } = this.#options;
    const launch: Launcher = (program) => ['nsenter', `--net=${namespacePath(namespace)}`, program];
    const conntrack = this.#private.enter(() => Conntrack.open());
    const cutter = new FlowCutter(conntrack.problem === undefined ? conntrack.ok : conntrack, onProblem);
    const generation = this.#private.enter(() => RulesetGeneration.open()).ok?.ok;
    const kernel = new KernelTable({
      launch,
      rules: DEFAULT_RULES,
      onDrift,
      onProblem,
      onStaleFlows: (flows) => cutter.cut(flows),
      readGeneration: () => generation?.read(),
      now: () => performance.now(),
    });
    this.#table = { kernel, cutter, generation };
  }

  async #closeTable(): Promise<void> {
    const table = this.#table;
    this.#table = undefined;
    await table?.cutter[Symbol.asyncDispose]();
    await table?.kernel[Symbol.asyncDispose]();
    table?.generation?.[Symbol.dispose]();
  }
}
