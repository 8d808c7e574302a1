#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=1 --v8-pool-size=2
// Small heaps of short-lived objects, few arenas and threads: the defaults cost each speaker 60 MB more.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command, Option } from 'commander';
import { EXIT } from './cli/exit-codes.ts';
import { example, formatOption, parse } from './cli/options.ts';
import type { Format, Output } from './cli/output.ts';
import { VERSION } from './version.ts';

const DEFAULT_SOCKET = '/run/signpost/signpost.sock';
const DEFAULT_STATE = '/var/lib/signpost';

const MOVES = [
  { name: 'drain', description: 'Hand every VIP over and take none.', arguments: undefined, sample: 'signpost drain' },
  { name: 'undrain', description: 'Take VIPs again.', arguments: undefined, sample: 'signpost undrain' },
  {
    name: 'rebalance',
    description: 'Move VIPs from speakers that lead more than their share.',
    arguments: undefined,
    sample: 'signpost rebalance',
  },
  {
    name: 'hand-over',
    description: 'Hand one VIP over to another node.',
    arguments: '<vip>',
    sample: 'signpost hand-over 203.0.113.10 --to n2',
  },
] as const;

const BGP_VIEWS = [
  { name: 'summary', description: 'One line a session.', sample: 'signpost bgp summary' },
  { name: 'neighbor', description: 'Everything about sessions.', sample: 'signpost bgp neighbor --peer tor1' },
  { name: 'routes', description: 'What each peer was sent.', sample: 'signpost bgp routes --peer tor1' },
  { name: 'events', description: 'What happened lately.', sample: 'signpost bgp events' },
] as const;

const output: Output = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  colour: process.stdout.isTTY && process.stdout.hasColors(),
};

/** Ends with the code of the command; commands are loaded when called, so that each starts fast and reaches little. */
async function main(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.ok;
  const interrupted = new AbortController();
  const program = new Command('signpost')
    .description('Makes Kubernetes services reachable on bare metal: VIPs by ARP, NDP and BGP, carried by nftables.')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  const socket = () =>
    new Option('--socket <path>', 'control socket of the daemon').default(DEFAULT_SOCKET).env('SIGNPOST_SOCKET');
  const endOnInterrupt = () =>
    process.once('SIGINT', () => interrupted.abort()).once('SIGTERM', () => interrupted.abort());

  program
    .command('run')
    .description('Run the speaker of this node until SIGTERM or SIGINT.')
    .option('--node <name>', 'name of this node (default: the host name)')
    .option('--manifests <folder>', 'read objects from a folder of YAML')
    .option('--kubeconfig <file>', 'read objects from the cluster of this kubeconfig (in a pod: from its own)')
    .option('--daemonset <name>', 'when it goes, or no longer selects this node, rules go with the speaker')
    .option('--interface <name...>', 'announce on these interfaces alone')
    .option('--peers <list>', 'the speakers, without Kubernetes: n1=192.0.2.11,n2=192.0.2.12')
    .option('--key-file <file...>', 'key that authenticates heartbeats; two during a rotation, the new one first')
    .option('--cluster <id>', 'speakers of other clusters on the same LAN are ignored')
    .option('--state-dir <folder>', 'where assignments are remembered')
    .option('--socket <path>', 'control socket')
    .option('--heartbeat-port <port>', 'UDP port of heartbeats')
    .option('--profile <name>', 'fast, default or calm: how soon a silent speaker is replaced')
    .option('--witness', 'only vote: never announce')
    .option('--metrics <address:port>', 'serve metrics, health and the status page')
    .option('--bgp-port <port>', 'TCP port of the BGP listener, 0 for none')
    .option(
      '--bgp-password-dir <folder>',
      'passwords of BGP sessions, without Kubernetes: FOLDER/NAME or FOLDER/NAME/KEY',
    )
    .option('--refused-sources <how>', 'reject or drop: what becomes of clients outside of sourceRanges')
    .option('--forward-mark <bits>', 'mark that the FORWARD policy accepts: 0x4000 beside kube-proxy in iptables mode')
    .option('--bgp-drain-seconds <seconds>', 'how long routes say that they leave before they are withdrawn')
    .option('--drain-seconds <seconds>', 'how long open connections are passed on after a hand-over')
    .option('--log-level <level>', 'trace, debug, info, warn or error')
    .option('--log-format <format>', 'auto, json or pretty')
    .addHelpText(
      'after',
      example(
        'signpost run --manifests /etc/signpost --node n1 --peers n1=192.0.2.11,n2=192.0.2.12 --key-file /etc/signpost.key',
      ),
    )
    .action(async (flags: Record<string, unknown>) => {
      const { run } = await import('./cli/run.ts');
      code = await run(renameFlags(flags), output);
    });

  program
    .command('status')
    .description('Show the routes, VIPs and troubles of the speaker on this node.')
    .addOption(socket())
    .addOption(formatOption())
    .option('-w, --watch', 'show each change')
    .addHelpText('after', example('signpost status -o wide'))
    .action(async (flags: { socket: string; output: Format; watch?: boolean }) => {
      const { status } = await import('./cli/status.ts');
      endOnInterrupt();
      code = await status(
        { socket: flags.socket, format: flags.output, watch: flags.watch === true },
        output,
        interrupted.signal,
      );
    });

  program
    .command('leaders [vip]')
    .description('Show who leads which VIP, and why.')
    .addOption(socket())
    .addOption(formatOption())
    .option('-w, --watch', 'print each change')
    .addHelpText('after', example('signpost leaders 203.0.113.10 --watch'))
    .action(async (vip: string | undefined, flags: { socket: string; output: Format; watch?: boolean }) => {
      const { leaders } = await import('./cli/leaders.ts');
      endOnInterrupt();
      const options = { socket: flags.socket, format: flags.output, vip, watch: flags.watch === true };
      code = await leaders(options, output, interrupted.signal);
    });

  program
    .command('explain <client> <vip>')
    .description('Show which node and endpoint get a new connection.')
    .addOption(socket())
    .addOption(formatOption())
    .addOption(new Option('--protocol <name>', 'of the connection').choices(['TCP', 'UDP', 'SCTP']).default('TCP'))
    .addHelpText('after', example('signpost explain 192.0.2.7:40000 203.0.113.10:443'))
    .action(async (client: string, vip: string, flags: { socket: string; output: Format; protocol: string }) => {
      const { explain } = await import('./cli/explain.ts');
      const options = { socket: flags.socket, format: flags.output, protocol: flags.protocol };
      code = await explain(client, vip, options, output);
    });

  for (const { name, description, arguments: argument, sample } of MOVES) {
    program
      .command(argument === undefined ? name : `${name} ${argument}`)
      .description(description)
      .addOption(socket())
      .option('--to <node>', 'node that is to take over, if it can')
      .option('--peer <peer>', 'drain, undrain: BGP alone, towards the BGPPeer or address')
      .addHelpText('after', example(sample))
      .action(async (...given: unknown[]) => {
        const { askToMove } = await import('./cli/drain.ts');
        const vip = argument === undefined ? undefined : (given[0] as string);
        const flags = given.at(argument === undefined ? 0 : 1) as { socket: string; to?: string; peer?: string };
        code = await askToMove(flags.socket, name, { vip, to: flags.to, peer: flags.peer }, output);
      });
  }

  program
    .command('validate <path...>')
    .description('Check manifests: files, folders, or - for standard input. Ends with 1 where anything is wrong.')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['table', 'json']).default('table'))
    .addHelpText('after', example('signpost validate manifests/'))
    .action(async (paths: string[], flags: { output: 'table' | 'json' }) => {
      const { validate } = await import('./cli/validate.ts');
      const readStdin = async () => Buffer.from(await readInput()).toString('utf8');
      code = await validate(paths, { format: flags.output, readStdin }, output);
    });

  program
    .command('cleanup')
    .description('Remove every trace of signpost from this node: its nftables tables, its socket, its state.')
    .addOption(socket())
    .addOption(new Option('--state-dir <folder>', 'where assignments are remembered').default(DEFAULT_STATE))
    .option('--keep-state', 'keep what was assigned')
    .addHelpText('after', example('signpost cleanup'))
    .action(async (flags: { socket: string; stateDir: string; keepState?: boolean }) => {
      const { cleanup } = await import('./cli/cleanup.ts');
      code = await cleanup({ ...flags, keepState: flags.keepState === true }, output);
    });

  const bgp = program.command('bgp').description('BGP sessions of the speaker on this node, and BGP bytes explained.');
  for (const { name, description, sample } of BGP_VIEWS) {
    bgp
      .command(name)
      .description(description)
      .addOption(socket())
      .addOption(formatOption())
      .option('--peer <peer>', 'name of a BGPPeer, or address of the peer')
      .addHelpText('after', example(sample))
      .action(async (flags: { socket: string; output: Format; peer?: string }) => {
        const views = await import('./cli/bgp.ts');
        const show = {
          summary: views.bgpSummary,
          neighbor: views.bgpNeighbor,
          routes: views.bgpRoutes,
          events: views.bgpEvents,
        };
        const { socket: path, output: form, peer } = flags;
        code = await show[name]({ socket: path, format: form, ...(peer === undefined ? {} : { peer }) }, output);
      });
  }
  bgp
    .command('decode <source>')
    .description('Explain BGP messages: hexadecimal digits, a file, or - for standard input.')
    .addOption(formatOption())
    .addHelpText('after', example('signpost bgp decode ffffffffffffffffffffffffffffffff001304'))
    .action(async (source: string, flags: { output: Format }) => {
      const { bgpDecode } = await import('./cli/bgp-decode.ts');
      const input = { stdin: readInput, file: (path: string) => readFile(path) };
      code = await bgpDecode(source, { format: flags.output, assumptions: {} }, input, output);
    });

  program
    .command('version')
    .description('Print the version.')
    .addHelpText('after', example('signpost version'))
    .action(() => output.out(`signpost ${VERSION} (Node.js ${process.version})\n`));

  return parse(program, argv, () => code);
}

/** By its other name the program is a plugin of kubectl, which knows the cluster alone. */
async function runByName(argv: readonly string[]): Promise<number> {
  if (basename(argv[1] ?? '') !== 'kubectl-signpost') return main(argv);
  const { plugin } = await import('./cli/plugin/program.ts');
  return plugin(argv, output);
}

/** Flags are in the singular where they repeat; the settings are named for what they hold. */
function renameFlags(flags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { interface: interfaces, keyFile: keyFiles, cluster: clusterId, ...rest } = flags;
  return { ...rest, interfaces, keyFiles, clusterId };
}

async function readInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

try {
  process.exitCode = await runByName(process.argv);
} catch (error) {
  process.stderr.write(`signpost: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = EXIT.internal;
}
