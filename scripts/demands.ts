/**
 * Takes the main line of features away, and says whether the tests that show them fail:
 *
 *     node scripts/demands.ts            what has no test yet
 *     node scripts/demands.ts S5 AT-3    these rows of test/demands/rows.tsv
 *     node scripts/demands.ts all
 *
 * Works on a copy of the tree. Ends with 1 when a test still passes, with 2 when a row is none.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Demand, readDemands } from '../test/support/demands.ts';

const ROOT = join(import.meta.dirname, '..');
/** Not known to git. */
const LINKED = ['node_modules', '.tools', '.cache'];

process.exitCode = main(process.argv.slice(2));

function main(asked: readonly string[]): number {
  const rows = readDemands(ROOT);
  const open = rows.filter(({ state }) => state === 'to do').map(({ id }) => id);
  if (asked.length === 0) {
    print(`to do: ${open.length === 0 ? 'nothing' : open.join(' ')}`);
    return 0;
  }
  const chosen = rows.filter(
    ({ id, state }) => ['works', 'partly'].includes(state) && (asked[0] === 'all' || asked.includes(id)),
  );
  const unknown = asked[0] === 'all' ? [] : asked.filter((id) => !chosen.some((row) => row.id === id));
  if (unknown.length > 0) {
    print(`no row that works: ${unknown.join(' ')}`);
    return 2;
  }
  const copy = mkdtempSync(join(tmpdir(), 'bench-demands-'));
  try {
    copyTree(copy);
    const passing = chosen.filter((row) => !fails(row, copy));
    print(`${chosen.length - passing.length} of ${chosen.length} tests fail without their main line`);
    return passing.length === 0 ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function copyTree(copy: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const path of listed.toString().split('\0')) {
    if (path !== '' && !LINKED.includes(path) && existsSync(join(ROOT, path))) {
      cpSync(join(ROOT, path), join(copy, path));
    }
  }
  for (const name of LINKED) {
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(copy, name));
  }
}

function fails({ file, id, instead, main: line, source, title }: Demand, copy: string): boolean {
  const path = join(copy, source);
  const whole = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    whole.replace(line, () => instead),
  );
  try {
    const counts = run(copy, file, title);
    const said = counts.failed > 0 ? 'fails, as it should' : counts.passed > 0 ? 'still passes' : 'did not run';
    print(`${id}\t${said}\t${file}\t${title}`);
    return counts.failed > 0;
  } finally {
    writeFileSync(path, whole);
  }
}

/** Of the tests of that title; a source that cannot be built fails them all. */
function run(copy: string, file: string, title: string): { passed: number; failed: number } {
  const report = join(copy, 'demands-report.json');
  rmSync(report, { force: true });
  const pattern = title.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll(/%[dfijs]|\\\$\w+/g, '.*');
  const tests = ['vitest', 'run', file, `--testNamePattern=${pattern}`];
  const options = ['--maxWorkers=1', '--reporter=json', `--outputFile=${report}`];
  for (const args of [
    ['node', 'scripts/build.mjs'],
    ['npx', ...tests, ...options],
  ]) {
    const [program = '', ...rest] = args;
    try {
      execFileSync(program, rest, { cwd: copy, stdio: 'ignore' });
    } catch {
      // A failure is what is wanted; the report tells which.
    }
  }
  if (!existsSync(report)) return { passed: 0, failed: 0 };
  const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8'));
  return { passed: numPassedTests, failed: numFailedTests };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
