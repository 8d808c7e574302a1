import { parseNodeName, parseVip } from '../../net/names.ts';
import { ok, problem, type Result } from '../../net/result.ts';
import type { WireCommand } from '../wire/protocol.ts';

/** Checks what a client of the control socket asks of the wire. */
export function parseCommand(
  type: 'drain' | 'undrain' | 'rebalance' | 'handOver',
  body: Readonly<Record<string, unknown>>,
): Result<WireCommand> {
  const asked = body['to'];
  const to = asked === undefined ? undefined : parseNodeName(typeof asked === 'string' ? asked : '', 'to');
  if (to?.problem !== undefined) return to;
  const target = to === undefined ? {} : { to: to.ok };
  switch (type) {
    case 'drain':
      return ok({ type, ...target });
    case 'undrain':
    case 'rebalance':
      return ok({ type });
    case 'handOver': {
      if (typeof body['vip'] !== 'string')
        return problem('vip', body['vip'], 'is missing', 'name the VIP to hand over');
      const vip = parseVip(body['vip'], 'vip');
      return vip.problem === undefined ? ok({ type, vip: vip.ok, ...target }) : vip;
    }
  }
}
