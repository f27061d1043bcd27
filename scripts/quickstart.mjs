// The main job on recorded H200 runs: two commits, what got slower, why, a page. Started by `npm run quickstart`.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDER = join(ROOT, 'quickstart');
// A hook of git names the repository that it belongs to: this one is another.
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^GIT_|^BENCH_DB$/.test(name)));

const isColored =
  Boolean(process.env.FORCE_COLOR) ||
  (process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb');

function bold(text) {
  return isColored ? `\u001b[1m${text}\u001b[22m` : text;
}

// `| head` reads no further.
process.stdout.on('error', () => process.exit());

function say(text = '') {
  process.stdout.write(`${text}\n`);
}

function fail(text) {
  process.stderr.write(`quickstart: ${text}\n`);
  process.exit(1);
}

/** Prints a command line, runs it, shows the first `lines` of what it prints, and gives all of that without color. */
function bench(command, { code = 0, lines = Infinity } = {}) {
  say(`\n${bold(`$ bench ${command}`)}`);
  const { columns } = process.stdout;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'bin', 'bench.js'), ...command.split(' ')],
    {
      cwd: FOLDER,
      env: { ...(columns && { COLUMNS: String(columns) }), ...ENV, ...(isColored && { FORCE_COLOR: '1' }) },
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    },
  );
  if (status === 130) process.exit(130);
  if (status !== code) fail(`bench ended with ${status} instead of ${code}\n${stderr}`);
  const all = stdout.trimEnd().split('\n');
  say(all.slice(0, lines).join('\n'));
  if (all.length > lines) say(`(${all.length - lines} more lines)`);
  return stripVTControlCharacters(stdout);
}

/** Commits all files with a fixed name and date, so that the commits are the same everywhere; false without git. */
function commit(message) {
  const who = ['-c', 'user.name=quickstart', '-c', 'user.email=quickstart@example.com', '-c', 'commit.gpgSign=false'];
  const date = '2026-03-01T12:00:00Z';
  const env = { ...ENV, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  return [
    ['add', '--all'],
    [...who, 'commit', '--quiet', '--no-verify', '--message', message],
  ].every((args) => spawnSync('git', args, { cwd: FOLDER, env }).status === 0);
}

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const [from, to] of [
  ['quickstart-pair', 'pair'],
  ['quickstart', 'two-models'],
]) {
  copyFileSync(join(ROOT, 'matrices', `${from}.yaml`), join(FOLDER, `${to}.yaml`));
}
writeFileSync(join(FOLDER, '.gitignore'), '*.sqlite*\nartefacts/\nengines/\nvariants/\n*.html\n');
const hasGit =
  spawnSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: FOLDER, env: ENV }).status === 0 &&
  commit('Tune the engine for batch 8');
const sides = hasGit ? 'HEAD~1 HEAD' : 'latest~1 latest';

say(`trtbench on recorded runs of one NVIDIA H200: no GPU is needed, nothing is measured here.
${hasGit ? 'quickstart/ is a git repository of its own, with a store in it.' : 'There is no git here: without commits the last two sweeps are compared, and HEAD~1 means nothing.'}

${bold(hasGit ? '1. Two commits.' : '1. Two sweeps.')} An engine is tuned for batch 8; then somebody moves the optimum to batch 32.`);
bench('run pair.yaml', { lines: 2 });
writeFileSync(join(FOLDER, 'pair-opt32.yaml'), 'extends: pair.yaml\nbuild: { opt: { batch: 32 } }\n');
if (hasGit && !commit('Tune the engine for batch 32')) fail('git commit failed');
bench('run pair-opt32.yaml', { lines: 2 });
const compared = bench(`compare ${sides}`, { code: 1 });
say('\nIts exit code is 1: a nightly job stops here.');

const [, cell] = /bench why\s+(\w+)/.exec(compared) ?? fail('compare advises nothing');
say(`\n${bold('2. Why.')} The command that compare advises.`);
bench(`why ${cell} ${sides}`);

say(`\n${bold('3. All of it on a page.')}`);
bench('report --html report.html', { code: 1, lines: 1 });
say(`The page is ${join(FOLDER, 'report.html')}`);

say(`\n${bold('4. A larger matrix')}, twice: two models, FP16 and FP8, three batch sizes, CUDA graph on and off.`);
bench('run two-models.yaml --db two-models.sqlite', { lines: 1 });
bench('run two-models.yaml --replay night2 --db two-models.sqlite', { lines: 1 });
bench('compare --db two-models.sqlite');

say(`
${bold('Try')}
  alias bench="node '${join(ROOT, 'bin', 'bench.js')}'"; cd quickstart
  bench trend ${cell}
  bench layers ${cell} --diff ${sides}

Your own models: bench init, then README.md.`);
