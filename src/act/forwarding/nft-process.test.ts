import { afterEach, describe, expect, test } from 'vitest';
import { type Launcher, NftProcess, runProgram } from './nft-process.ts';
import { nft } from './text.ts';

/**
 * Stands in for `nft -i`: each line is a word that says how to behave. It answers the marker like nft does.
 */
const FAKE = `
  const MARKER = 'datatype ipv4_addr (IPv4 address) (basetype integer), 32 bits\\n';
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    if (line === 'describe ipv4_addr') return split(MARKER);
    if (line === 'refuse') process.stderr.write('Error: Could not process rule: No such file or directory\\nadd x\\n^^^\\n');
    if (line === 'warn') process.stderr.write('# Warning: table ip nat is managed by iptables-nft, do not touch!\\n');
    if (line === 'die') process.kill(process.pid, 'SIGKILL');
    if (line === 'exit') { process.stderr.write('netlink: Error: cache initialization failed: Operation not permitted\\n'); process.exit(1); }
    if (line.startsWith('list')) process.stdout.write('table inet t\\n');
  });
  function split(text) { for (const part of text.match(/.{1,9}\\n?/gs)) process.stdout.write(part); }
`;

const fake: Launcher = () => [process.execPath, '-e', FAKE, '--'];
let running: NftProcess | undefined;

function start(launch = fake): NftProcess {
  running = new NftProcess(launch);
  return running;
}

afterEach(() => running?.[Symbol.asyncDispose]());

describe('the nft process', () => {
  test('answers each line with what it printed, in however many pieces', async () => {
    const nftProcess = start();
    expect(await nftProcess.run(nft`list table`)).toEqual({ ok: 'table inet t\n' });
    expect(await nftProcess.run(nft`add table`)).toEqual({ ok: '' });
  });

  test('tells what the kernel refused, in one line, and goes on', async () => {
    const nftProcess = start();
    const { problem } = await nftProcess.run(nft`refuse`);
    expect(problem?.message).toBe('the kernel refused the rules: No such file or directory');
    expect(await nftProcess.run(nft`list table`)).toHaveProperty('ok');
  });

  test('does not take a warning for a refusal', async () => {
    expect(await start().run(nft`warn`)).toEqual({ ok: '' });
  });

  test('says that it died amid a line, and is started again by the next', async () => {
    const nftProcess = start();
    const { problem } = await nftProcess.run(nft`die`);
    expect(problem?.message).toBe('nft ended with SIGKILL');
    expect(await nftProcess.run(nft`list table`)).toHaveProperty('ok');
  });

  test('says why it ended', async () => {
    const { problem } = await start().run(nft`exit`);
    expect(problem?.message).toContain('Operation not permitted');
  });

  test('says that it is not installed', async () => {
    const { problem } = await start(() => ['/nonexistent/nft']).run(nft`list table`);
    expect(problem).toMatchObject({ message: 'nft is not installed', fix: 'install the package nftables' });
  });

  test('runs one line at a time', async () => {
    const nftProcess = start();
    const first = nftProcess.run(nft`list table`);
    expect(() => nftProcess.run(nft`list table`)).toThrow('one line at a time');
    await first;
  });
});

test('a program that is not there is a problem, not a throw', async () => {
  expect(await runProgram(() => ['/nonexistent/nft'], 'nft', [])).toMatchObject({
    code: -1,
    problem: { message: 'nft is not installed' },
  });
});
