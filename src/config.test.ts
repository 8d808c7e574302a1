import { describe, expect, test } from 'vitest';
import { formatProblem } from '../net/result.ts';
import { flagOf, readConfig, variableOf } from './config.ts';

const problems = (flags: Record<string, unknown>, environment: Record<string, string> = {}) =>
  (readConfig({ node: 'n1', manifests: 'd', ...flags }, environment).problem ?? []).map(formatProblem);

test('flags come before the environment, and that before defaults', () => {
  const environment = { SIGNPOST_PROFILE: 'fast', SIGNPOST_HEARTBEAT_PORT: '1234', SIGNPOST_NODE: 'other' };
  const config = readConfig({ node: 'n1', manifests: 'd', profile: 'calm' }, environment).ok;
  expect(config).toMatchObject({ node: 'n1', profile: 'calm', heartbeatPort: 1234, bgpPort: 179 });
});

test('peers are grouped by node', () => {
  const config = readConfig(
    { node: 'n1', manifests: 'd', peers: 'n1=192.0.2.11,n2=192.0.2.12,n1=2001:db8::11', keyFiles: ['k'] },
    {},
  ).ok;
  expect(config?.peers).toEqual([
    { node: 'n1', addresses: ['192.0.2.11', '2001:db8::11'] },
    { node: 'n2', addresses: ['192.0.2.12'] },
  ]);
});

test('ADDRESS:PORT of both families', () => {
  expect(readConfig({ node: 'n1', manifests: 'd', metrics: '127.0.0.1:7946' }, {}).ok?.metrics).toEqual({
    host: '127.0.0.1',
    port: 7946,
  });
  expect(readConfig({ node: 'n1', manifests: 'd', metrics: '[::1]:7946' }, {}).ok?.metrics).toEqual({
    host: '::1',
    port: 7946,
  });
  expect(problems({ metrics: '7946' })[0]).toMatch(/--metrics: is not ADDRESS:PORT/);
});

describe('problems', () => {
  test.each([
    [{ node: 'Not A Node' }, {}, /^--node: is not a node name/],
    [{ profile: 'quick' }, {}, /^--profile: /],
    [{ interfaces: ['eth 0'] }, {}, /^--interface: is not an interface name/],
    [{ peers: 'n1' }, {}, /^--peers: is not NODE=ADDRESS/],
    [{ peers: 'n2=192.0.2.1' }, {}, /^--peers: does not name this node \(n1\)/],
    [{ keyFiles: ['a', 'b', 'c'] }, {}, /^--key-file: holds more than the two keys/],
    [{ manifests: undefined }, {}, /^--manifests: is missing/],
    [{ manifests: 'd', peers: 'n1=192.0.2.1,n2=192.0.2.2' }, {}, /^--key-file: is missing/],
    [{}, { SIGNPOST_PROFLE: 'fast' }, /^SIGNPOST_PROFLE: is no setting of signpost .*did you mean SIGNPOST_PROFILE/],
    [{}, { SIGNPOST_BGP_PORT: '99999' }, /^SIGNPOST_BGP_PORT: /],
  ] as const)('%j %j', (flags, environment, expected) => {
    expect(problems(flags, environment).join('\n')).toMatch(expected);
  });

  test('all are named at once', () => {
    expect(problems({ profile: 'x', heartbeatPort: 'y' })).toHaveLength(2);
  });

  test('what Kubernetes sets for a Service named signpost is left alone', () => {
    const environment = { SIGNPOST_SERVICE_HOST: '10.0.0.1', SIGNPOST_PORT: 'tcp://10.0.0.1:80' };
    expect(problems({}, environment)).toEqual([]);
  });
});

test('each setting has a flag and a variable', () => {
  expect([flagOf('stateDir'), variableOf('stateDir')]).toEqual(['--state-dir', 'SIGNPOST_STATE_DIR']);
  expect(flagOf('interfaces')).toBe('--interface');
});
