/** The import rules of docs/architecture.md. Types count as imports, tests do not. */
const IO =
  '^(fs|fs/promises|net|dgram|dns|dns/promises|http|https|http2|tls|child_process|worker_threads|cluster|os|readline|timers|timers/promises|process)$';
const test = '\\.test\\.ts$|/testing/|^test/|^bench/';

const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: test },
  to: { pathNot: allowed, dependencyTypesNot: ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer'] },
});

const pure = (name, from, pathNot) => ({
  name,
  comment: 'codecs, machines and decisions take I/O, time and randomness as arguments',
  severity: 'error',
  from: { path: from, pathNot: [test, ...(pathNot ?? [])] },
  to: { path: IO, reachable: true },
});

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'the rules of the one membership machine call each other; nothing else may',
      severity: 'error',
      from: { pathNot: '^src/membership/' },
      to: { circular: true },
    },
    {
      name: 'not-to-test',
      severity: 'error',
      from: { path: '^(net|sys|arp|bgp|src)/', pathNot: test },
      to: { path: test },
    },
    only('net-imports-nothing', '^net/', '^net/', 'net is the bottom'),
    only('sys-imports-net', '^sys/', '^(sys|net)/', 'sys knows libc and net'),
    only('arp-stands-alone', '^arp/', '^(arp|sys|net)/', 'arp is a library'),
    only('bgp-stands-alone', '^bgp/', '^(bgp|sys|net)/', 'bgp is a library'),
    {
      name: 'sys-only-in-transport-shells',
      severity: 'error',
      from: { path: '^(arp|bgp)/', pathNot: [test, '/transport'] },
      to: { path: '^sys/' },
    },
    pure('net-is-pure', '^net/'),
    pure('arp-is-pure', '^arp/'),
    pure('bgp-core-is-pure', '^bgp/(codec|fsm|rib|bfd)/', ['/transport']),
    pure('api-is-pure', '^src/api/'),
    pure('decide-is-pure', '^src/decide/'),
    pure('world-is-pure', '^src/world/'),
    pure('membership-is-pure', '^src/membership/', ['^src/membership/transport']),
    {
      name: 'act-never-observes',
      severity: 'error',
      from: { path: '^src/act/', pathNot: test },
      to: { path: '^src/observe/' },
    },
    {
      name: 'only-the-client-starts-the-worker',
      severity: 'error',
      from: { path: '^(src|net|sys|arp|bgp)/', pathNot: [test, '^src/wire/(client|worker)\\.ts$'] },
      to: { path: '^worker_threads$' },
    },
    only(
      'worker-reaches-little',
      '^src/wire/(worker|loop)',
      '^(src/wire|src/membership|arp|bgp/bfd|bgp/index|net|sys)/',
      'the worker must stay small and never wait for the main thread',
    ),
    {
      name: 'only-daemon-wires',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [test, '^src/(daemon|main)\\.ts$', '^src/daemon/', '^src/act/', '^src/observe/', '^src/cli/'],
      },
      to: { path: '^src/(act|observe)/' },
    },
    {
      name: 'cli-runs-on-a-laptop',
      comment: 'libc is loaded by run, cleanup and trace alone',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: [test, '^src/cli/(run|cleanup|trace)\\.ts$'] },
      to: { path: '^sys/libc\\.ts$', reachable: true },
    },
    {
      name: 'child-process-in-two-files',
      severity: 'error',
      from: { path: '^(src|net|sys|arp|bgp)/', pathNot: [test, '^src/act/forwarding/nft-process\\.ts$'] },
      to: { path: '^child_process$' },
    },
    {
      name: 'no-dev-in-production',
      severity: 'error',
      from: { path: '^(net|sys|arp|bgp|src)/', pathNot: test },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.mjs', '.js', '.cjs'] },
  },
};
