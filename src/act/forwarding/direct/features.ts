import { passedOn } from '../code-points.ts';
import { FAMILIES } from '../family.ts';
import type { Feature } from '../features.ts';
import { nft } from '../text.ts';
import { sendTo, slotExpression } from './layout.ts';

const SCRATCH = nft`netdev signpost-probe`;

/** What Direct forwarding needs beyond the rest. */
export const DIRECT_FEATURES: readonly Feature[] = [
  {
    name: 'chains at the ingress of an interface',
    module: 'CONFIG_NETFILTER_INGRESS',
    table: SCRATCH,
    commands: [nft`add chain ${SCRATCH} c { type filter hook ingress device "lo" priority -500; }`],
  },
  {
    name: 'forwarding of frames',
    module: 'nft_fwd_netdev',
    table: SCRATCH,
    commands: [
      nft`add chain ${SCRATCH} to`,
      nft`add rule ${SCRATCH} to fwd ip to 192.0.2.1 device "lo"`,
      nft`add chain ${SCRATCH} c`,
      ...FAMILIES.map((family) => nft`add rule ${SCRATCH} c ${slotExpression(family, false)} vmap { 0 : goto to }`),
    ],
  },
  ...FAMILIES.map((family): Feature => {
    const table = nft`${family.ip} signpost-probe`;
    const target = family.ip === 'ip' ? nft`192.0.2.1 device "lo"` : nft`2001:db8::1 device "lo"`;
    return {
      name: `duplication of ${family.ip} packets`,
      module: family.ip === 'ip' ? 'nft_dup_ipv4' : 'nft_dup_ipv6',
      table,
      commands: [
        nft`add chain ${table} c`,
        ...[nft`${family.ip} dscp set ${passedOn(0)}`, ...sendTo(target)].map(
          (rule) => nft`add rule ${table} c ${rule}`,
        ),
      ],
    };
  }),
];
