import type { AddressPool } from '../../api/address-pool.ts';
import type { BGPPeer } from '../../api/bgp-peer.ts';
import type { ServiceRoute } from '../../api/service-route.ts';
import type { Speaker } from '../../api/speaker.ts';
import type { ApiClient } from '../../kubernetes/client.ts';
import { type ApiFailure, describeFailure } from '../../kubernetes/failure.ts';
import { listObjects } from '../../kubernetes/list.ts';
import { RESOURCES } from '../../kubernetes/resources.ts';
import { EXIT } from '../exit-codes.ts';
import type { Format, Output } from '../output.ts';

/** What every command of the plugin is given. */
export interface PluginContext {
  readonly client: ApiClient;
  /** For the header: which cluster this is about. */
  readonly server: string;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly format: Format;
  readonly output: Output;
}

export const listRoutes = ({ client, namespace }: PluginContext) =>
  listObjects<ServiceRoute>(client, { resource: RESOURCES.ServiceRoute[0], namespace });

export const listPools = ({ client }: PluginContext) =>
  listObjects<AddressPool>(client, { resource: RESOURCES.AddressPool[0] });

export const listPeers = ({ client }: PluginContext) =>
  listObjects<BGPPeer>(client, { resource: RESOURCES.BGPPeer[0] });

export const listSpeakers = ({ client }: PluginContext) =>
  listObjects<Speaker>(client, { resource: RESOURCES.Speaker[0] });

export function fail({ output }: Pick<PluginContext, 'output'>, failure: ApiFailure): number {
  output.err(`${describeFailure(failure)}\n`);
  return EXIT.failed;
}
