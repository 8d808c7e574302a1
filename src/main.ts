#!/usr/bin/env node
import { Command, CommanderError, Option } from 'commander';
import { EXIT } from './cli/exit-codes.ts';
import type { Format, Output } from './cli/output.ts';
import { VERSION } from './version.ts';

const DEFAULT_SOCKET = '/run/signpost/signpost.sock';

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
  const format = () =>
    new Option('-o, --output <format>', 'form of the answer')
      .choices(['table', 'wide', 'json', 'yaml'])
      .default('table');
  const endOnInterrupt = () =>
    process.once('SIGINT', () => interrupted.abort()).once('SIGTERM', () => interrupted.abort());

  program
    .command('run')
    .description('Run the speaker of this node until SIGTERM or SIGINT.')
    .option('--node <name>', 'name of this node (default: the host name)')
    .option('--manifests <folder>', 'read objects from a folder of YAML instead of a Kubernetes API')
    .option('--kubeconfig <file>', 'kubeconfig of the cluster (default: the service account of the pod)')
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
    .addOption(format())
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
    .command('version')
    .description('Print the version.')
    .addHelpText('after', example('signpost version'))
    .action(() => output.out(`signpost ${VERSION} (Node.js ${process.version})\n`));

  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code;
}

/** Flags are in the singular where they repeat; the settings are named for what they hold. */
function renameFlags(flags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { interface: interfaces, keyFile: keyFiles, cluster: clusterId, ...rest } = flags;
  return { ...rest, interfaces, keyFiles, clusterId };
}

function example(command: string): string {
  return `\nExample:\n  ${command}`;
}

try {
  process.exitCode = await main(process.argv);
} catch (error) {
  process.stderr.write(`signpost: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = EXIT.internal;
}
