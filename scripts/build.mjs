// Bundles src/ into dist/: one file would load everything for `--help`, so each command is a chunk of its own.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/cli.ts', replay: 'src/replay/trtexec.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node22.15',
  minify: true,
  keepNames: true,
  sourcemap: false,
  external: ['better-sqlite3'],
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
