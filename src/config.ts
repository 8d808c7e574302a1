import { existsSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import * as z from 'zod';
import type { Ip } from '../net/ip.ts';
import { parseIp } from '../net/ip.ts';
import { type InterfaceName, type NodeName, parseInterfaceName, parseNodeName } from '../net/names.ts';
import { ok, type Problem, problem, type Result } from '../net/result.ts';

/** A speaker that is named on the command line, for running without Kubernetes. */
export interface ConfiguredPeer {
  readonly node: NodeName;
  readonly addresses: readonly Ip[];
}

type Parser<T> = (text: string, field?: string) => Result<T>;

/** A zod string that one of our parsers brands; its problem becomes zod's issue. */
function parsed<T>(parse: Parser<T>) {
  return z.string().transform((text, context) => {
    const result = parse(text);
    if (result.problem === undefined) return result.ok;
    context.addIssue({ code: 'custom', message: `${result.problem.message}; ${result.problem.fix}`, input: text });
    return z.NEVER;
  });
}

const list = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',').filter((part) => part !== '') : value),
    z.array(item),
  );

const hostAndPort = z.string().transform((text, context) => {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:]*)):(?<port>\d{1,5})$/.exec(text);
  const port = Number(match?.groups?.['port']);
  if (!match || port > 65535) {
    context.addIssue({
      code: 'custom',
      message: 'is not ADDRESS:PORT; write 127.0.0.1:7946 or [::1]:7946',
      input: text,
    });
    return z.NEVER;
  }
  return { host: match.groups?.['v6'] ?? match.groups?.['host'] ?? '', port };
});

const peer = z.string().transform((text, context): { node: NodeName; address: Ip } => {
  const [name = '', address = '', ...more] = text.split('=');
  const node = parseNodeName(name);
  const ip = parseIp(address);
  const wrong = node.problem ?? ip.problem;
  if (wrong !== undefined || more.length > 0 || node.ok === undefined || ip.ok === undefined) {
    context.addIssue({
      code: 'custom',
      message: 'is not NODE=ADDRESS; write e.g. n1=192.0.2.11,n2=192.0.2.12',
      input: text,
    });
    return z.NEVER;
  }
  return { node: node.ok, address: ip.ok };
});

/** Bits of a packet mark, decimal or hexadecimal. */
const mark = z.coerce.number().int().min(0).max(0xffffffff);

function groupPeers(entries: readonly { node: NodeName; address: Ip }[]): ConfiguredPeer[] {
  const byNode = new Map<NodeName, Ip[]>();
  for (const { node, address } of entries) byNode.set(node, [...(byNode.get(node) ?? []), address]);
  return Array.from(byNode, ([node, addresses]) => ({ node, addresses }));
}

const ConfigSchema = z
  .object({
    node: parsed<NodeName>(parseNodeName),
    manifests: z.string().optional(),
    kubeconfig: z.string().optional(),
    daemonset: z.string().min(1).max(253).optional(),
    interfaces: list(parsed<InterfaceName>(parseInterfaceName)).default([]),
    peers: list(peer).default([]).transform(groupPeers),
    clusterId: z.string().min(1).max(63).default('default'),
    keyFiles: list(z.string().min(1))
      .pipe(z.array(z.string()).max(2, 'holds more than the two keys of a rotation'))
      .default([]),
    stateDir: z.string().default('/var/lib/signpost'),
    socket: z.string().default('/run/signpost/signpost.sock'),
    heartbeatPort: z.coerce.number().int().min(1).max(65535).default(7947),
    profile: z.enum(['fast', 'default', 'calm']).default('default'),
    witness: z.stringbool().or(z.boolean()).default(false),
    metrics: hostAndPort.optional(),
    bgpPasswordDir: z.string().default('/etc/signpost/bgp'),
    bgpPort: z.coerce.number().int().min(0).max(65535).default(179),
    refusedSources: z.enum(['reject', 'drop']).default('reject'),
    forwardMark: mark.default(0),
    bgpDrainSeconds: z.coerce.number().min(0).max(3600).default(2),
    drainSeconds: z.coerce.number().min(0).max(3600).default(30),
    logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
    logFormat: z.enum(['auto', 'json', 'pretty']).default('auto'),
  })
  .strict();

/** Everything that flags and the environment decide. Secrets are named as files and never held here. */
export type Config = z.output<typeof ConfigSchema> & {
  /** What Kubernetes tells every pod: where its API server is. */
  readonly pod: { readonly host: string | undefined; readonly port: string | undefined };
};

/** Flag of each setting; the environment variable is the same in capitals: `--state-dir`, `SIGNPOST_STATE_DIR`. */
export function flagOf(setting: string): string {
  const special: Record<string, string> = { interfaces: 'interface', keyFiles: 'key-file', clusterId: 'cluster' };
  return `--${special[setting] ?? setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function variableOf(setting: string): string {
  return `SIGNPOST_${flagOf(setting).slice(2).replaceAll('-', '_').toUpperCase()}`;
}

/** The kubeconfigs that kubectl would take: of several in KUBECONFIG those that there are. */
export function kubeconfigFiles(flag: string | undefined): readonly string[] {
  if (flag !== undefined) return [flag];
  const named = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter(Boolean);
  if (named.length === 0) return [join(homedir(), '.kube', 'config')];
  const present = named.filter((file) => existsSync(file));
  return present.length > 0 ? present : named;
}

export function loadConfig(flags: Readonly<Record<string, unknown>>): Result<Config, readonly Problem[]> {
  return readConfig(flags, process.env);
}

/**
 * Flags, then `SIGNPOST_*`, then defaults. Every problem is named, not the first alone. A variable that is almost
 * a setting is one of them; others are left alone, since Kubernetes itself sets such as SIGNPOST_SERVICE_HOST.
 */
export function readConfig(
  flags: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): Result<Config, readonly Problem[]> {
  const settings = Object.keys(ConfigSchema.shape);
  const known = new Map(settings.map((setting) => [variableOf(setting), setting]));
  const fromEnvironment: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('SIGNPOST_') || value === undefined) continue;
    const setting = known.get(variable);
    if (setting !== undefined) fromEnvironment[setting] = value;
    const near = setting === undefined ? closest(variable, [...known.keys()]) : variable;
    if (setting === undefined && distance(variable, near) <= 2) {
      problems.push({ field: variable, value, message: 'is no setting of signpost', fix: `did you mean ${near}` });
    }
  }
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  const parsedConfig = ConfigSchema.safeParse({ node: hostname().toLowerCase(), ...fromEnvironment, ...given });
  if (!parsedConfig.success) {
    for (const issue of parsedConfig.error.issues) {
      const setting = String(issue.path[0] ?? '');
      const name = setting in given ? flagOf(setting) : variableOf(setting);
      const [message = '', fix = `see 'signpost run --help'`] = issue.message.split('; ');
      problems.push({ field: name, value: given[setting] ?? fromEnvironment[setting], message, fix });
    }
  }
  if (problems.length > 0 || parsedConfig.data === undefined) return { problem: problems };
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  return checkTogether({ ...parsedConfig.data, pod: { host, port } });
}

function checkTogether(config: Config): Result<Config, readonly Problem[]> {
  const problems: Problem[] = [];
  if (config.manifests === undefined && config.kubeconfig === undefined && config.pod.host === undefined) {
    const fix = 'give a folder of manifests or --kubeconfig; in a pod of a cluster neither is needed';
    problems.push(problem('--manifests', undefined, 'is missing', fix).problem);
  }
  if (config.manifests !== undefined && config.kubeconfig !== undefined) {
    const fix = 'take one source of objects, not both';
    problems.push(problem('--kubeconfig', config.kubeconfig, 'is given beside --manifests', fix).problem);
  }
  if (config.manifests === undefined && config.peers.length > 0) {
    const fix = 'leave it out: with Kubernetes the nodes with a speaker are the members';
    problems.push(problem('--peers', undefined, 'is given without --manifests', fix).problem);
  }
  if (config.manifests === undefined && config.keyFiles.length > 0) {
    const fix = 'leave it out: with Kubernetes the keys are in the Secret signpost-keys';
    problems.push(problem('--key-file', undefined, 'is given without --manifests', fix).problem);
  }
  if (config.peers.length > 1 && config.keyFiles.length === 0 && config.manifests !== undefined) {
    const fix =
      'write at least 32 random bytes to a file of mode 0600, the same on every node, and give it with --key-file';
    problems.push(
      problem('--key-file', undefined, 'is missing: heartbeats between speakers are authenticated', fix).problem,
    );
  }
  if (config.peers.length > 0 && config.peers.every((member) => member.node !== config.node)) {
    const fix = `add ${config.node}=ADDRESS, the address of this node that the other speakers reach`;
    problems.push(problem('--peers', undefined, `does not name this node (${config.node})`, fix).problem);
  }
  return problems.length > 0 ? { problem: problems } : ok(config);
}
