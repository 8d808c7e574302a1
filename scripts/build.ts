import { chmod, rm } from 'node:fs/promises';
import { build } from 'esbuild';

/** CommonJS packages in an ESM bundle call `require`; its plain name would collide with theirs. */
const banner = [
  "import { createRequire as bundleRequire } from 'node:module';",
  'const require = bundleRequire(import.meta.url);',
].join('\n');

const OUT = 'dist';

await rm(OUT, { recursive: true, force: true });
await build({
  entryPoints: { signpost: 'src/main.ts', 'wire-worker': 'src/wire/worker.ts' },
  outdir: OUT,
  outExtension: { '.js': '.mjs' },
  // Each command in a chunk of its own: what runs on a laptop must not load libc's bindings.
  splitting: true,
  chunkNames: 'chunk-[hash]',
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
});
await chmod(`${OUT}/signpost.mjs`, 0o755);
