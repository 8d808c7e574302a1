/** One YAML document as it stands in its file. */
export interface DocumentText {
  readonly text: string;
  /** Line of the file on which the text begins, from 1. */
  readonly line: number;
}

const START = /^---(?:\s|$)/;
const END = /^\.\.\.(?:\s|$)/;
/** What may precede the `---` of its document: directives, comments, nothing. */
const PREAMBLE = /^(?:%|\s*(?:#|$))/;
const BARE_MARKER = /^(?:---|\.\.\.)\s*(?:#|$)/;

/**
 * Divides a file into its documents without parsing it. `---` and `...` at the beginning of a line are markers
 * wherever they stand, inside of block scalars too (YAML 1.2.2, production 206, c-forbidden).
 */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = [];
  let lines: string[] = [];
  let first = 1;
  const close = (next: number) => {
    if (lines.some((line) => !PREAMBLE.test(line) && !BARE_MARKER.test(line)))
      documents.push({ text: lines.join('\n'), line: first });
    lines = [];
    first = next;
  };
  text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .forEach((line, index) => {
      if (START.test(line) && !lines.every((before) => PREAMBLE.test(before))) close(index + 1);
      lines.push(line);
      if (END.test(line)) close(index + 2);
    });
  close(0);
  return documents;
}
