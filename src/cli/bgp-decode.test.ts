import { describe, expect, test } from 'vitest';
import { type BgpDecodeOptions, bgpDecode } from './bgp-decode.ts';

const KEEPALIVE = `${'ff'.repeat(16)}001304`;
const UPDATE = `${'ff'.repeat(16)}003002000000148001010040020602010000fde9400304c000020120cb007109`;

async function run(
  source: string,
  files: Readonly<Record<string, Uint8Array>> = {},
  options: Partial<BgpDecodeOptions> = {},
) {
  const written = { out: '', err: '' };
  const code = await bgpDecode(
    source,
    { format: 'table', assumptions: {}, ...options },
    {
      stdin: () => Promise.resolve(files['-'] ?? new Uint8Array()),
      file: (path) => {
        const bytes = files[path];
        return bytes === undefined ? Promise.reject(new Error(`no file ${path}`)) : Promise.resolve(bytes);
      },
    },
    {
      out: (text) => void (written.out += text),
      err: (text) => void (written.err += text),
      colour: false,
    },
  );
  return { code, ...written };
}

test('a message is shown in columns, then its errors and our reaction', async () => {
  const { code, out } = await run(UPDATE);
  expect(code).toBe(1);
  const lines = out.split('\n').map((line) => line.replaceAll(/ {2,}/g, '  '));
  expect(lines[0]).toBe('UPDATE');
  expect(lines).toContain('23  ORIGIN  IGP [optional]  80010100');
  expect(lines.slice(-3)).toEqual([
    'error: ORIGIN has wrong flags 0x80: all its routes are withdrawn',
    'reaction: all its routes are withdrawn',
    '',
  ]);
});

describe('octets come', () => {
  const text = (value: string) => new TextEncoder().encode(value);
  const binary = Uint8Array.from(Buffer.from(KEEPALIVE, 'hex'));
  const dump = `\t0x0000:  4500 0027 ${'ffff '.repeat(6)}\n\t0x0010:  ffff ffff 0013 04\n`;

  test.each([
    ['as digits', KEEPALIVE, {}],
    ['with spaces, colons and 0x', `0x${KEEPALIVE.slice(0, 20)}:${KEEPALIVE.slice(20, 32)} ${KEEPALIVE.slice(32)}`, {}],
    ['from a binary file', 'a.bin', { 'a.bin': binary }],
    ['from a file of digits', 'a.hex', { 'a.hex': text(`${KEEPALIVE}\n`) }],
    ['from standard input', '-', { '-': binary }],
    ['from tcpdump -x, behind other headers', 'a.dump', { 'a.dump': text(dump) }],
  ])('%s', async (_, source, files) => {
    const { code, out } = await run(source, files);
    expect(out).toMatch(/^KEEPALIVE\n/);
    expect(out).toMatch(/\nreaction: accepted\n$/);
    expect(code).toBe(0);
  });

  test('not from nowhere', async () => {
    expect(await run('nosuch')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('no file nosuch') as string,
    });
    expect(await run('-')).toMatchObject({ code: 2, err: expect.stringContaining('holds no octets') as string });
  });
});

test('octets before the first marker are told', async () => {
  const { out, err } = await run(`4500${KEEPALIVE}`);
  expect(err).toBe('2 octets before the first marker are passed over\n');
  expect(out).toMatch(/^KEEPALIVE\n/);
});

test('as JSON', async () => {
  const { out } = await run(KEEPALIVE, {}, { format: 'json' });
  expect(JSON.parse(out)).toEqual([
    {
      title: 'KEEPALIVE',
      fields: [
        { offset: 0, name: 'marker', value: '', bytes: 'ff'.repeat(16) },
        { offset: 16, name: 'length', value: '19', bytes: '0013' },
        { offset: 18, name: 'type', value: 'KEEPALIVE', bytes: '04' },
      ],
      errors: [],
      reaction: 'accepted',
    },
  ]);
});
