// Bundles src/ into dist/, and the script and style of the HTML report next to it. One file for all commands: modules that
// only a command needs run when it is called, and resolving a hundred files takes longer than compiling one from the cache.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/cli.ts', replay: 'src/trtexec/replay/trtexec.ts' },
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  // Unlike imports of ECMAScript modules, `require` loads Node's own modules when they are needed: an eighth of a start.
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  target: 'node22.15',
  // A stack under BENCH_DEBUG=1 says where something is wrong, by maps without the sources.
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  external: ['better-sqlite3'],
  // The messages of zod in other languages are a tenth of the file. esbuild escapes signs outside of ASCII in strings
  // alone, so the source does in regular expressions and tagged templates: with one, V8 takes two bytes for each sign.
  plugins: [{ name: 'english', setup: (b) => b.onLoad({ filter: /v4.locales.index/ }, () => ({ contents: '' })) }],
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: "'use strict'; const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
});
await build({
  entryPoints: { page: 'src/html/browser/main.ts', 'page-style': 'src/html/browser/page.css' },
  outdir: 'dist',
  bundle: true,
  platform: 'browser',
  format: 'iife',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  minify: true,
  charset: 'utf8',
});
