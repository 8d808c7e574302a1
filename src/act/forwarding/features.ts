import { type Problem, problem } from '../../../net/result.ts';
import { familyText } from './family.ts';
import type { NftProcess } from './nft-process.ts';
import { packetKey } from './skeleton.ts';
import { join, type NftText, nft } from './text.ts';

/** Never committed with anything in it: each probe makes and deletes it in one transaction. */
const SCRATCH = nft`inet signpost-probe`;

export interface Feature {
  /** For people: what the kernel or nft cannot do. */
  readonly name: string;
  readonly module: string;
  /** The scratch table that they use; one of all families where absent. */
  readonly table?: NftText;
  readonly commands: readonly NftText[];
}

const KEY = packetKey(familyText('IPv4'));
const NAT_CHAIN = nft`add chain ${SCRATCH} c { type nat hook prerouting priority -110; }`;
const FILTER_CHAIN = nft`add chain ${SCRATCH} c { type filter hook prerouting priority -95; }`;
const KEY_TYPE = nft`ipv4_addr . inet_proto . inet_service`;

const FEATURES: readonly Feature[] = [
  {
    name: 'address translation by a map',
    module: 'nft_nat',
    commands: [
      nft`add map ${SCRATCH} m { type ${KEY_TYPE} : ipv4_addr . inet_service; }`,
      NAT_CHAIN,
      rule(nft`dnat ip to ${KEY} map @m`),
    ],
  },
  {
    name: 'masquerading',
    module: 'nft_masq',
    commands: [
      nft`add chain ${SCRATCH} c { type nat hook postrouting priority 90; }`,
      rule(nft`masquerade fully-random`),
    ],
  },
  { name: 'redirection', module: 'nft_redir', commands: [NAT_CHAIN, rule(nft`icmp type echo-request redirect`)] },
  {
    name: 'rejection before routing',
    module: 'nft_reject_inet, Linux 5.9 or later',
    commands: [FILTER_CHAIN, rule(nft`meta l4proto tcp reject with tcp reset`)],
  },
  {
    name: 'matching the address before translation',
    module: 'nft_ct',
    commands: [
      FILTER_CHAIN,
      rule(nft`meta l4proto tcp ct original ip daddr . ct original proto-dst { 192.0.2.1 . 80 } accept`),
    ],
  },
  {
    name: 'looking at the route of a packet',
    module: 'nft_fib_inet',
    commands: [FILTER_CHAIN, rule(nft`ip daddr 192.0.2.1 fib daddr oifname "lo" accept`)],
  },
  {
    name: 'random numbers',
    module: 'nft_numgen',
    commands: [NAT_CHAIN, rule(nft`numgen random mod 3 vmap { 0-1 : accept, 2 : drop }`)],
  },
  {
    name: 'hashes',
    module: 'nft_hash',
    commands: [NAT_CHAIN, rule(nft`jhash ip saddr mod 2 seed 1 vmap { 0 : accept, 1 : drop }`)],
  },
  {
    name: 'sets of networks with other fields',
    module: 'nft_set_pipapo, Linux 5.6 or later',
    commands: [nft`add set ${SCRATCH} s { type ${KEY_TYPE} . ipv4_addr; flags interval; }`],
  },
  {
    name: 'sets that packets fill',
    module: 'nft_dynset',
    commands: [
      nft`add set ${SCRATCH} s { type ${KEY_TYPE}; size 16; flags dynamic,timeout; timeout 1h; counter; }`,
      FILTER_CHAIN,
      rule(nft`update @s { ${KEY} }`),
    ],
  },
];

/** Undefined where the kernel and nft can do all that rules need; else says in words what they lack. */
export async function missingFeatures(
  process: Pick<NftProcess, 'run'>,
  features: readonly Feature[] = FEATURES,
): Promise<Problem | undefined> {
  const { problem: anything } = await process.run(scratch([]));
  if (anything !== undefined) return anything;
  const lacking: Feature[] = [];
  for (const feature of features) {
    const { problem: refused } = await process.run(scratch(feature.commands, feature.table));
    if (refused !== undefined) lacking.push(feature);
  }
  if (lacking.length === 0) return undefined;
  return problem(
    '',
    undefined,
    `this kernel or its nft lacks: ${lacking.map(({ name }) => name).join(', ')}`,
    `load or enable ${lacking.map(({ module }) => module).join('; ')}`,
  ).problem;
}

function scratch(commands: readonly NftText[], table = SCRATCH): NftText {
  return join([nft`add table ${table}`, ...commands, nft`delete table ${table}`], '; ');
}

function rule(text: NftText): NftText {
  return nft`add rule ${SCRATCH} c ${text}`;
}
