/** Writes the reference pages of docs from src/api; `--check` fails where they are not fresh. */
import { apiReference } from './api-reference.ts';
import { conditionsReference } from './conditions-reference.ts';
import { writeGenerated } from './generated.ts';

const pages = new Map([
  ['docs/api.md', apiReference()],
  ['docs/conditions.md', conditionsReference()],
]);

process.exitCode = writeGenerated(pages, process.argv);
