import { chmod, rm } from 'node:fs/promises';
import { type BuildOptions, build } from 'esbuild';

/** CommonJS packages in an ESM bundle call `require`; its plain name would collide with theirs. */
const banner = [
  "import { createRequire as bundleRequire } from 'node:module';",
  'const require = bundleRequire(import.meta.url);',
].join('\n');

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'linked',
  sourcesContent: false,
  external: ['koffi', 'raw-socket'],
  banner: { js: banner },
  legalComments: 'none',
  logLevel: 'warning',
};

const OUT = 'dist';

await rm(OUT, { recursive: true, force: true });
await Promise.all([
  build({ ...common, entryPoints: ['src/main.ts'], outfile: `${OUT}/signpost.mjs` }),
  build({ ...common, entryPoints: ['src/wire/worker.ts'], outfile: `${OUT}/wire-worker.mjs` }),
]);
await chmod(`${OUT}/signpost.mjs`, 0o755);
