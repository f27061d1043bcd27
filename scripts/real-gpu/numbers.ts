import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { execa } from 'execa';
import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkInterruptions } from './interruptions.ts';
import { checkLogs } from './logs.ts';
import { checkLoop } from './loop.ts';
import { type MatrixOptions, matrixOf, writeMatrix } from './matrices.ts';
import { checkAtOnce, checkSecondProcess } from './sharing.ts';
import { changesText, type Ended, type Visit } from './visit.ts';

const MAIN: MatrixOptions = {
  name: 'main',
  precisions: ['fp16', 'fp8'],
  batches: [1, 8, 32],
  cudaGraph: ['on', 'off'],
};

/** One model and precision of the main matrix, three runs of each batch: what is built in other ways. */
const PART: MatrixOptions = { name: 'part', models: ['resnet'], batches: [1, 32], repeats: 3 };

/** What no run may say of a GPU that only bench used. */
const FALSE_FLAGS = ['contended', 'thermalSlowdown', 'hardwareSlowdown', 'clockOffLevel', 'pcieReduced'];

/** Visit A: the numbers, what is said of them, interruptions, other users of the GPU, and the time that bench adds. */
export async function visitNumbers(visit: Visit): Promise<void> {
  await visit.part('doctor', 2, () => checkDoctor(visit));
  await visit.part('first matrix', 40, () => checkInit(visit));
  await visit.part('matrix with profiles', 180, () => checkMatrix(visit));
  await visit.part('same engines again', 50, () => checkSame(visit));
  await visit.part('changed builds', 55, () => checkChanges(visit));
  await visit.part('flags', 0, () => checkFlags(visit));
  await visit.part('time that bench adds', 57, () => checkLoop(visit));
  await visit.part('second process', 8, () => checkSecondProcess(visit));
  await visit.part('interruptions', 58, () => checkInterruptions(visit));
  await visit.part('until sure', 17, () => checkUntilSure(visit));
  await visit.part('variable of the environment', 8, () => checkVariable(visit));
  await visit.part('at once', 17, () => checkAtOnce(visit));
  await visit.part('commits', 20, () => checkBisect(visit));
  await visit.part('logs', 0, () => checkLogs(visit));
}

async function checkDoctor(visit: Visit): Promise<void> {
  const ended = await visit.bench(['doctor']);
  const problems = ended.stdout.split('\n').filter((line) => /^\s*[!✗] /.test(line));
  visit.check('ends with 0', ended.code === 0, [endOf(ended), ...problems.map((line) => line.trim())].join('; '));
}

async function checkInit(visit: Visit): Promise<void> {
  const output = visit.file('init/matrix.yaml', '');
  const init = await visit.bench(['init', visit.model('resnet'), '--force', '--output', output]);
  visit.check('bench init writes a matrix', init.code === 0, init.stdout.split('\n')[0] ?? '');
  // The same matrix, only shorter: three seconds a run are for a schedule.
  const run = { warmUpMs: 100, durationS: 0.3 };
  const short = { extends: './matrix.yaml', repeats: 1, run, build: { optimizationLevel: 0 } };
  const ended = await visit.bench(['run', visit.file('init/short.yaml', short)]);
  visit.check('it runs at once', ended.code === 0, endOf(ended));
}

async function checkMatrix(visit: Visit): Promise<void> {
  await visit.run([writeMatrix(visit, MAIN), '--profile']);
  const profiled = visit.count('SELECT count(*) n FROM layer_profiles');
  const lost = visit.count(
    `SELECT count(*) n FROM runs WHERE role = 'profile' AND run_id NOT IN (SELECT run_id FROM layer_profiles)`,
  );
  visit.check(
    'every profile has its layers',
    profiled > 0 && lost === 0,
    `${profiled} profiles, ${lost} without layers`,
  );
}

async function checkSame(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, MAIN)]);
  const { counts } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  visit.check('nothing is called', counts.slower + counts.faster === 0, JSON.stringify(counts));
}

/** Engines tuned for another batch, and built without optimization: what is called, its size, its first cause. */
async function checkChanges(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, PART), '--profile']);
  for (const [name, base, options] of [
    ['tuned for batch 32', 'latest~1', { optBatch: 32 }],
    ['built with level 0', 'latest~2', { level: 0 }],
  ] as const) {
    await visit.bench(['run', writeMatrix(visit, { ...PART, ...options }), '--profile']);
    const { cells } = await visit.json(OUTPUTS.compare, ['compare', base, 'latest']);
    const called = cells.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
    const large = cells.filter(({ changePercent }) => Math.abs(changePercent ?? 0) >= 2);
    visit.check(
      `${name}: changes of 2 % and more are called`,
      large.every((cell) => called.includes(cell)),
      changesText(cells),
    );
    const [worst] = called;
    if (worst === undefined) continue;
    const { causes } = await visit.json(OUTPUTS.why, ['why', worst.label, base, 'latest']);
    const first = causes[0];
    visit.check(
      `${name}: the first cause is the build`,
      first !== undefined && ['tactics', 'options', 'layers'].includes(first.kind),
      `${first?.kind}, ${first?.certainty}: ${first?.title}`,
    );
  }
}

/** Nothing but bench used the GPU so far: no run may say otherwise. */
async function checkFlags(visit: Visit): Promise<void> {
  const flags = visit.rows(
    z.object({ flag: z.string(), effect: z.string(), n: z.number() }),
    'SELECT flag, effect, count(*) n FROM run_flags GROUP BY flag, effect',
  );
  const runs = visit.count(`SELECT count(*) n FROM runs WHERE outcome = 'measured'`);
  const figure = `${runs} runs; ${flags.map(({ flag, effect, n }) => `${flag} (${effect}) ${n}`).join(', ') || 'no flag'}`;
  visit.check(
    'no false contended, throttled or clock flag',
    !flags.some(({ flag }) => FALSE_FLAGS.includes(flag)),
    figure,
  );
}

/** A calm cell and one without a CUDA graph: what is not sure after two runs is repeated. */
async function checkUntilSure(visit: Visit): Promise<void> {
  const [percent, most] = [0.5, 6];
  const matrix = writeMatrix(visit, { ...PART, name: 'sure', batches: [1], cudaGraph: ['on', 'off'], repeats: 2 });
  await visit.bench(['run', matrix]);
  const sure = ['--until-sure', `${percent}`, '--max-repeats', `${most}`];
  const { cells } = await visit.json(OUTPUTS.run, ['run', matrix, ...sure]);
  const compared = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  const found = cells.map(({ key, label, measured }) => {
    const detectable = compared.cells.find((cell) => cell.key === key)?.mdePercent ?? null;
    return `${label}: ${measured} runs, ${detectable?.toFixed(2)} % detectable`;
  });
  const runs = cells.map(({ measured }) => measured);
  visit.check(
    `repeats until ${percent} % is detectable, ${most} runs at most`,
    Math.max(...runs) > 2 && Math.max(...runs) <= most,
    found.join('; '),
  );
}

async function checkVariable(visit: Visit): Promise<void> {
  const matrix = writeMatrix(visit, { ...PART, name: 'variable', batches: [1] });
  const ended = await visit.bench(['ab', matrix, '--env', 'CUDA_MODULE_LOADING=EAGER', '--repeats', '3']);
  visit.check('ab measures both sides', ended.code === 0 || ended.code === 1, endOf(ended));
}

/** Five commits, of which the fourth builds without optimization. */
async function checkBisect(visit: Visit): Promise<void> {
  const { folder, culprit } = await makeRepository(visit, { ...PART, name: 'commits', batches: [1], repeats: 1 });
  const args = ['bisect', 'HEAD~4', 'HEAD', '--matrix', 'commits.yaml', '--cell', 'batch=1'];
  const { status, causes } = await visit.json(OUTPUTS.bisect, args, folder);
  const found = JSON.stringify(causes);
  visit.check(
    'the first bad commit is found',
    status === 'found' && found.includes(culprit),
    `${status} ${found.slice(0, 120)}`,
  );
}

/** A git repository of five commits that hold a matrix; from the fourth on its engine is built with level 0. */
async function makeRepository(visit: Visit, options: MatrixOptions): Promise<{ folder: string; culprit: string }> {
  const folder = join(visit.place.folder, 'commits');
  mkdirSync(folder, { recursive: true });
  const who = ['-c', 'user.name=visit', '-c', 'user.email=visit@example.org'];
  const git = async (...args: readonly string[]): Promise<string> =>
    (await execa('git', [...who, ...args], { cwd: folder })).stdout;
  await git('init', '--quiet', '--initial-branch=main');
  let culprit = '';
  for (const number of [1, 2, 3, 4, 5]) {
    visit.file(`commits/${options.name}.yaml`, matrixOf(visit, { ...options, level: number < 4 ? 3 : 0 }));
    visit.file('commits/notes.txt', `change ${number}\n`);
    await git('add', '.');
    await git('commit', '--quiet', '--message', `change ${number}`);
    if (number === 4) culprit = await git('rev-parse', 'HEAD');
  }
  return { folder, culprit };
}

/** Its exit code, and the last line of what it printed. */
function endOf({ code, stdout, stderr }: Ended): string {
  const lines = (stdout.trim() || stderr.trim()).split('\n');
  return `exit code ${code}; ${lines.at(-1)?.trim() ?? ''}`;
}
