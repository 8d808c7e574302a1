import { type Assumptions, type ExplainedMessage, explain, hex } from '../../bgp/codec/index.ts';
import { formatProblem, ok, problem, type Result } from '../../net/result.ts';
import { EXIT } from './exit-codes.ts';
import { columns, type Format, type Output, paint, structured } from './output.ts';

export interface BgpDecodeOptions {
  readonly format: Format;
  /** What the bytes do not tell of their session. */
  readonly assumptions: Assumptions;
}

export interface BgpDecodeInput {
  readonly stdin: () => Promise<Uint8Array>;
  /** Rejects where the file cannot be read. */
  readonly file: (path: string) => Promise<Uint8Array>;
}

const MARKER_LENGTH = 16;
/** Octets shown of a field. */
const SHOWN = 16;

/**
 * `signpost bgp decode HEX|FILE|-`: explains BGP messages, with their errors and what we would do about them.
 * Exit code 1 where a message is in error, 2 where there are no octets to read.
 */
export async function bgpDecode(
  source: string,
  options: BgpDecodeOptions,
  input: BgpDecodeInput,
  output: Output,
): Promise<number> {
  const read = await readSource(source, input);
  if (read.problem !== undefined) {
    output.err(`${formatProblem(read.problem)}\n`);
    return EXIT.usage;
  }
  const start = firstMarker(read.ok);
  if (start > 0) output.err(`${start} octets before the first marker are passed over\n`);
  const messages = explain(read.ok.subarray(start), options.assumptions);
  output.out(`${render(messages, options.format, output)}\n`);
  return messages.every(({ errors }) => errors.length === 0) ? EXIT.ok : EXIT.failed;
}

async function readSource(source: string, input: BgpDecodeInput): Promise<Result<Uint8Array>> {
  const inline = source === '-' ? undefined : parseHex(source);
  if (inline !== undefined) return ok(inline);
  let bytes: Uint8Array;
  try {
    bytes = source === '-' ? await input.stdin() : await input.file(source);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return problem('', source, `is neither hexadecimal nor a file that can be read: ${why}`, 'name HEX, FILE or -');
  }
  const found = startsWithMarker(bytes, 0) ? bytes : (parseHex(Buffer.from(bytes).toString('latin1')) ?? bytes);
  return found.length > 0 ? ok(found) : problem('', source, 'holds no octets', 'name HEX, FILE or -');
}

/** Digits with or without spaces, colons and `0x`; also lines of `tcpdump -x` with their offsets. */
function parseHex(text: string): Uint8Array | undefined {
  const digits = text.replaceAll(/^\s*0x[0-9a-f]+:\s/gim, '').replaceAll(/0x|[\s:]/gi, '');
  return /^(?:[0-9a-f]{2})+$/i.test(digits) ? Uint8Array.from(Buffer.from(digits, 'hex')) : undefined;
}

/** Where the first message begins: octets of a packet's other headers may come before it. */
function firstMarker(bytes: Uint8Array): number {
  for (let at = 0; at + MARKER_LENGTH <= bytes.length; at++) if (startsWithMarker(bytes, at)) return at;
  return 0;
}

function startsWithMarker(bytes: Uint8Array, at: number): boolean {
  const marker = bytes.subarray(at, at + MARKER_LENGTH);
  return marker.length === MARKER_LENGTH && marker.every((byte) => byte === 0xff);
}

function render(messages: readonly ExplainedMessage[], format: Format, output: Output): string {
  if (format === 'json' || format === 'yaml') {
    const inHex = ({ fields, ...message }: ExplainedMessage) => ({
      ...message,
      fields: fields.map((field) => ({ ...field, bytes: hex(field.bytes) })),
    });
    return structured(format, messages.map(inHex));
  }
  return messages.map((message) => renderMessage(message, format === 'wide', output)).join('\n\n');
}

function renderMessage({ title, fields, errors, reaction }: ExplainedMessage, wide: boolean, output: Output): string {
  const rows = fields.map(({ offset, name, value, bytes }) => {
    const shown = wide ? bytes : bytes.subarray(0, SHOWN);
    return [String(offset), name, value, `${hex(shown)}${shown.length < bytes.length ? '...' : ''}`];
  });
  return [
    paint(output, 'bold', title),
    columns(['OFFSET', 'FIELD', 'VALUE', 'BYTES'], rows),
    ...errors.map((error) => paint(output, 'red', `error: ${error.text}: ${error.reaction}`)),
    `reaction: ${reaction}`,
  ].join('\n');
}
