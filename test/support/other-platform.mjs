// Loaded before bench: the process is on `BENCH_TEST_PLATFORM` (`darwin`, `win32`), as far as one process can pretend.
// What only Linux has is not there, what Windows refuses fails, and each attempt is a line of `BENCH_TEST_ATTEMPTS`.
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { basename } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import Database from 'better-sqlite3';

// The library of this system, before the other one's would be chosen.
new Database(':memory:').close();

const platform = process.env.BENCH_TEST_PLATFORM;
const isWindows = platform === 'win32';
const { appendFileSync } = fs;

function note(attempt) {
  appendFileSync(process.env.BENCH_TEST_ATTEMPTS, `${attempt}\n`);
}

function refused(code, what) {
  note(what);
  return Object.assign(new Error(`${code}: ${what}`), { code, errno: -2, syscall: 'fake', path: what });
}

const OF_THE_KERNEL = /^\/(?:proc|sys|dev\/shm(?!\/\w{6}(?:\/|$))|run|etc)(?:\/|$)/;
const NOT_ON_WINDOWS = /[<>:"|?*]|[. ]$/;
/** What makes a file of a name: a reader of such a name finds nothing anyway. */
const MAKES = /^(?:write|append|mkdir|rename|copy|create|symlink|link|cp)/;

function problemOf(name, paths) {
  const texts = paths.map((path) => (path instanceof URL ? fileURLToPath(path) : String(path)));
  const kernel = texts.find((path) => OF_THE_KERNEL.test(path));
  if (kernel !== undefined) return refused('ENOENT', `${name} ${kernel}`);
  if (!isWindows) return null;
  const named = texts.find((path) => MAKES.test(name) && NOT_ON_WINDOWS.test(basename(path)));
  return named === undefined ? null : refused('EINVAL', `${name} ${named}`);
}

const PATHS = { rename: 2, copyFile: 2, symlink: 2, link: 2, cp: 2 };
const METHODS =
  `access appendFile copyFile cp link lstat mkdir open opendir readFile readdir readlink realpath rename rm
  rmdir stat statfs symlink unlink writeFile`.split(/\s+/);
const throwing = (error) => {
  throw error;
};

for (const method of METHODS) {
  const count = PATHS[method] ?? 1;
  wrap(fs, `${method}Sync`, count, throwing);
  wrap(fs.promises, method, count, async (error) => throwing(error));
}
wrap(fs, 'existsSync', 1, () => false);
for (const method of ['createReadStream', 'createWriteStream']) wrap(fs, method, 1, throwing);

function wrap(holder, name, count, fail) {
  const original = holder[name];
  holder[name] = Object.assign((...given) => {
    const problem = typeof given[0] === 'number' ? null : problemOf(name, given.slice(0, count));
    return problem === null ? original.apply(holder, given) : fail(problem);
  }, original);
}

/** Programs that people have on all systems. */
const PROGRAMS = new Set(['git']);
for (const name of ['spawn', 'spawnSync']) {
  const start = childProcess[name];
  childProcess[name] = (file, ...rest) => {
    if (PROGRAMS.has(file)) return start(file, ...rest);
    note(`spawn ${file}`);
    return start('no-such-program-here', ...rest);
  };
}

const { kill } = process;
process.kill = (pid, signal) => {
  if (isWindows && pid < 0) throw refused('ESRCH', `kill ${signal} of a process group`);
  return kill.call(process, pid, signal);
};
if (isWindows) {
  os.loadavg = () => [0, 0, 0];
  for (const name of ['getuid', 'geteuid', 'getgid', 'getegid', 'getgroups']) process[name] = undefined;
  fs.fsyncSync = ((original) => (file) => {
    if (fs.fstatSync(file).isDirectory()) throw refused('EPERM', 'fsync of a folder');
    return original(file);
  })(fs.fsyncSync);
}
Object.defineProperty(process, 'platform', { value: platform });
os.platform = () => platform;
syncBuiltinESMExports();
