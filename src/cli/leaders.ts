import { formatProblem } from '../../net/result.ts';
import type { StatusDocument, VipView } from '../observability/status-document.ts';
import { callDaemon, watchDaemon } from './control-client.ts';
import { EXIT } from './exit-codes.ts';
import { columns, type Format, type Output, structured } from './output.ts';

export interface LeadersOptions {
  readonly socket: string;
  readonly format: Format;
  readonly vip: string | undefined;
  readonly watch: boolean;
}

/** `signpost leaders [VIP]`: who leads which VIP and why; with `watch` a line at each change. */
export async function leaders(options: LeadersOptions, output: Output, signal: AbortSignal): Promise<number> {
  if (options.watch) return watchLeaders(options, output, signal);
  const reply = await callDaemon(options.socket, 'GET', '/status');
  if (reply.problem !== undefined) {
    output.err(`${formatProblem(reply.problem)}\n`);
    return EXIT.failed;
  }
  const vips = selected(reply.ok.body as StatusDocument, options.vip);
  if (vips.length === 0) {
    output.err(options.vip === undefined ? 'there are no VIPs\n' : `${options.vip} is no VIP; see 'signpost status'\n`);
    return options.vip === undefined ? EXIT.ok : EXIT.failed;
  }
  output.out(`${render(vips, options.format)}\n`);
  return EXIT.ok;
}

function selected(document: StatusDocument, vip: string | undefined): readonly VipView[] {
  return vip === undefined ? document.vips : document.vips.filter((view) => view.vip === vip);
}

function render(vips: readonly VipView[], format: Format): string {
  if (format === 'json' || format === 'yaml') return structured(format, vips);
  const row = (view: VipView) => [
    view.vip,
    view.holder ?? 'nobody',
    String(view.epoch),
    view.holder === undefined ? '-' : view.fenced ? 'yes' : 'no',
    view.since ?? '-',
    [view.why, ...view.reasons].filter((text) => text !== '').join('; '),
  ];
  return columns(['VIP', 'LEADER', 'EPOCH', 'FENCED', 'SINCE', 'WHY'], vips.map(row));
}

async function watchLeaders(options: LeadersOptions, output: Output, signal: AbortSignal): Promise<number> {
  const last = new Map<string, string>();
  const show = (document: unknown) => {
    for (const view of selected(document as StatusDocument, options.vip)) {
      const state = `${view.holder ?? 'nobody'} epoch ${view.epoch}${view.holder === undefined || view.fenced ? '' : ' unfenced'}`;
      if (last.get(view.vip) === state) continue;
      last.set(view.vip, state);
      output.out(
        `${new Date().toISOString()}  ${view.vip}  ${state}${view.holder === undefined ? `  ${view.why}` : ''}\n`,
      );
    }
  };
  const watched = await watchDaemon(options.socket, show, signal);
  if (watched.problem === undefined) return EXIT.ok;
  output.err(`${formatProblem(watched.problem)}\n`);
  return EXIT.failed;
}
