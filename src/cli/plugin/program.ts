import { createInterface } from 'node:readline/promises';
import { Command, InvalidArgumentError } from 'commander';
import { formatProblem } from '../../../net/result.ts';
import { kubeconfigFiles } from '../../config.ts';
import { kubeconfigAccess } from '../../kubernetes/access.ts';
import { createClient } from '../../kubernetes/client.ts';
import { VERSION } from '../../version.ts';
import { EXIT } from '../exit-codes.ts';
import { example, formatOption, parse } from '../options.ts';
import type { Format, Output } from '../output.ts';
import type { PluginContext } from './context.ts';
import { describeRoute } from './describe.ts';
import { drainNode, undrainNode } from './drain.ts';
import { clusterEvents } from './events.ts';
import { clusterSessions } from './sessions.ts';
import { clusterStatus } from './status.ts';
import { uninstall } from './uninstall.ts';
import { clusterLeaders, getVips } from './vips.ts';

interface Flags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly output?: Format;
}

/** `context` with the namespace of the flags or else of the kubeconfig. */
type Work = (context: PluginContext, namespace: string) => Promise<number>;

/** Where the manifests and the documentation install Signpost. */
const INSTALLED_IN = 'signpost';

/** `kubectl signpost`: works with a kubeconfig alone, by what the API server says. @returns the exit code */
export async function plugin(argv: readonly string[], output: Output): Promise<number> {
  let code: number = EXIT.ok;
  const program = new Command('kubectl-signpost')
    .description('Shows and moves the VIPs of a cluster, from anywhere that has a kubeconfig.')
    .version(VERSION)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .option('--kubeconfig <file>', 'by default KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig')
    .option('-n, --namespace <name>', 'of routes and Events: by default all; of one route: that of the context');

  const perform = async (command: Command, work: Work) => {
    const flags = command.optsWithGlobals<Flags>();
    const access = await kubeconfigAccess(kubeconfigFiles(flags.kubeconfig), flags.context);
    if (access.problem !== undefined) {
      output.err(`${formatProblem(access.problem)}\n`);
      code = EXIT.configuration;
      return;
    }
    const client = createClient(access.ok, `kubectl-signpost/${VERSION}`);
    const { namespace, output: format = 'table' } = flags;
    const context = { client, server: access.ok.server.href, namespace, format, output };
    code = await work(context, namespace ?? access.ok.namespace);
  };

  const shows = (parent: Command, usage: string, description: string, work: Work) =>
    parent
      .command(usage)
      .description(description)
      .addOption(formatOption())
      .addHelpText('after', example(`kubectl signpost ${parent === program ? '' : `${parent.name()} `}${usage}`))
      .action((_flags: unknown, command: Command) => perform(command, work));

  shows(program, 'status', 'Show every speaker and route, and what is not as it should be.', clusterStatus);
  const get = program.command('get').description('List.');
  shows(get, 'vips', 'Show who announces each VIP, and for which routes.', getVips);
  shows(program, 'sessions', 'Show the BGP sessions of every node.', clusterSessions);
  shows(program, 'events', 'Show what the speakers told of transitions.', clusterEvents);
  program
    .command('leaders [vip]')
    .description('Show who answers for each VIP on its LAN, or why nobody does.')
    .addOption(formatOption())
    .addHelpText('after', example('kubectl signpost leaders 203.0.113.10'))
    .action((vip: string | undefined, _flags: unknown, command: Command) =>
      perform(command, (context) => clusterLeaders(context, vip)),
    );
  program
    .command('describe')
    .description('Explain.')
    .command('route <name>')
    .description('Show what a route asks for, what is true, and what to do about the difference.')
    .addOption(formatOption())
    .addHelpText('after', example('kubectl signpost describe route web -n default'))
    .action((name: string, _flags: unknown, command: Command) =>
      perform(command, (context, namespace) => describeRoute(context, namespace, name)),
    );
  program
    .command('drain <node>')
    .description('Let a node hand over its VIPs and take none; returns when it announces none.')
    .option('--timeout <seconds>', 'how long to wait', seconds, 30)
    .addHelpText('after', example('kubectl signpost drain n2'))
    .action((node: string, { timeout }: { timeout: number }, command: Command) =>
      perform(command, (context) => drainNode(context, node, timeout)),
    );
  program
    .command('undrain <node>')
    .description('Let a node take VIPs again.')
    .addHelpText('after', example('kubectl signpost undrain n2'))
    .action((node: string, _flags: unknown, command: Command) =>
      perform(command, (context) => undrainNode(context, node)),
    );
  program
    .command('uninstall')
    .description('Remove Signpost from the cluster and from its nodes.')
    .option('--crds', 'also the definitions, and with them every route, pool and peer')
    .option('-y, --yes', 'do not ask')
    .option('--force', 'go on where a pod does not end, as on a node that is down')
    .option('--timeout <seconds>', 'how long speakers may take to clean up', seconds, 120)
    .addHelpText('after', example('kubectl signpost uninstall'))
    .action(({ crds, yes, force, timeout }: UninstallFlags, command: Command) =>
      perform(command, (context) =>
        uninstall(context, {
          namespace: context.namespace ?? INSTALLED_IN,
          crds: crds === true,
          force: force === true,
          timeoutSeconds: timeout,
          confirm: () => (yes === true ? Promise.resolve(true) : askToGoOn()),
        }),
      ),
    );
  return parse(program, argv, () => code);
}

interface UninstallFlags {
  readonly crds?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly timeout: number;
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('Give seconds, e.g. 30.');
}

async function askToGoOn(): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Go on (yes/no)? ');
  terminal.close();
  return answer.trim() === 'yes';
}
