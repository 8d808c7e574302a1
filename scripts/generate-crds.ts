/** Writes daemonset/crds from the schemas of src/api; `--check` fails where they are not fresh. */
import { stringify } from 'yaml';
import { CRDS, customResourceDefinition } from './crd.ts';
import { writeGenerated } from './generated.ts';

const HEADER = '# Generated from src/api by `npm run generate`.\n';
const files = CRDS.map((crd) => {
  const text = stringify(customResourceDefinition(crd), { lineWidth: 0, aliasDuplicateObjects: false });
  return [`daemonset/crds/${crd.plural}.yaml`, HEADER + text] as const;
});

process.exitCode = writeGenerated(new Map(files), process.argv);
