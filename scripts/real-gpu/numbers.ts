import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { makeRepository } from './commits.ts';
import { startContender } from './contender.ts';
import { checkInterruptions } from './interruptions.ts';
import { checkLogs } from './logs.ts';
import { checkLoop } from './loop.ts';
import { type MatrixOptions, writeMatrix } from './matrices.ts';
import { overlaps } from './overlaps.ts';
import type { Ended, Visit } from './visit.ts';

const MAIN: MatrixOptions = {
  name: 'main',
  precisions: ['fp16', 'fp8'],
  batches: [1, 8, 32],
  cudaGraph: ['on', 'off'],
};

/** One model and precision of the main matrix, three runs of each batch: what is built in other ways. */
const PART: MatrixOptions = { name: 'part', models: ['resnet'], batches: [1, 8, 32], repeats: 3 };

/** What no run may say of a GPU that only bench used. */
const FALSE_FLAGS = ['contended', 'thermalSlowdown', 'hardwareSlowdown', 'clockOffLevel', 'pcieReduced'];

/** Visit A: the numbers, what is said of them, interruptions, other users of the GPU, and the time that bench adds. */
export async function visitNumbers(visit: Visit): Promise<void> {
  await visit.part('doctor', 5, () => checkDoctor(visit));
  await visit.part('first matrix', 50, () => checkInit(visit));
  await visit.part('matrix with profiles', 210, () => checkMatrix(visit));
  await visit.part('same engines again', 60, () => checkSame(visit));
  await visit.part('changed builds', 70, () => checkChanges(visit));
  await visit.part('flags', 1, () => checkFlags(visit));
  await visit.part('time that bench adds', 60, () => checkLoop(visit));
  await visit.part('second process', 15, () => checkSecondProcess(visit));
  await visit.part('interruptions', 60, () => checkInterruptions(visit));
  await visit.part('until sure', 25, () => checkUntilSure(visit));
  await visit.part('three at once', 20, () => checkThreeAtOnce(visit));
  await visit.part('variable of the environment', 15, () => checkVariable(visit));
  await visit.part('commits', 40, () => checkBisect(visit));
  await visit.part('logs', 1, () => checkLogs(visit));
}

async function checkDoctor(visit: Visit): Promise<void> {
  const ended = await visit.bench(['doctor']);
  const problems = ended.stdout.split('\n').filter((line) => /^\s*[!✗] /.test(line));
  visit.check('ends with 0', ended.code === 0, [endOf(ended), ...problems.map((line) => line.trim())].join('; '));
}

async function checkInit(visit: Visit): Promise<void> {
  const output = visit.file('init/matrix.yaml', '');
  const init = await visit.bench(['init', visit.model('resnet'), '--yes', '--force', '--output', output]);
  visit.check('bench init writes a matrix', init.code === 0, init.stdout.split('\n')[0] ?? '');
  // The same matrix, only shorter: three seconds a run are for a schedule.
  const run = { warmUpMs: 100, durationS: 0.3 };
  const short = { extends: './matrix.yaml', repeats: 1, run, build: { optimizationLevel: 0 } };
  const ended = await visit.bench(['run', visit.file('init/short.yaml', short)]);
  visit.check('it runs at once', ended.code === 0, endOf(ended));
}

async function checkMatrix(visit: Visit): Promise<void> {
  const { counts } = await visit.json(OUTPUTS.run, ['run', writeMatrix(visit, MAIN), '--profile']);
  visit.check('every run is measured', counts.failed + counts.unfit === 0, JSON.stringify(counts));
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
    const figure = cells.map(
      ({ label, verdict, changePercent }) => `${label}: ${verdict} ${changePercent?.toFixed(2)} %`,
    );
    visit.check(
      `${name}: changes of 2 % and more are called`,
      large.every((cell) => called.includes(cell)),
      figure.join('; '),
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

async function checkSecondProcess(visit: Visit): Promise<void> {
  const contender = startContender(visit);
  try {
    const matrix = writeMatrix(visit, { ...PART, batches: [1], name: 'contended' });
    await visit.bench(['run', matrix]);
  } finally {
    await contender.stop();
  }
  const runs = visit.count(
    `SELECT count(*) n FROM runs JOIN sweeps USING (sweep_id) WHERE matrix = 'contended' AND role = 'timed'`,
  );
  const reported = visit.count(
    `SELECT count(*) n FROM runs JOIN sweeps USING (sweep_id) WHERE matrix = 'contended' AND role = 'timed' AND
       (reason = 'contended' OR run_id IN (SELECT run_id FROM run_flags WHERE flag = 'contended'))`,
  );
  visit.check('is reported as contended', runs > 0 && reported === runs, `${reported} of ${runs} runs`);
}

async function checkUntilSure(visit: Visit): Promise<void> {
  const options: MatrixOptions = { ...PART, name: 'sure', batches: [1], cudaGraph: 'off', repeats: 2 };
  const matrix = writeMatrix(visit, options);
  await visit.bench(['run', matrix]);
  const { cells } = await visit.json(OUTPUTS.run, ['run', matrix, '--until-sure', '0.5', '--max-repeats', '8']);
  const [cell] = cells;
  const { cells: compared } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  const detectable = compared[0]?.mdePercent ?? null;
  const runs = cell?.measured ?? 0;
  const isRight = runs > 2 || (detectable !== null && detectable <= 0.5);
  visit.check(
    'repeats until .5 % is detectable, 8 runs at most',
    isRight,
    `${runs} runs, ${detectable?.toFixed(2)} % detectable`,
  );
}

async function checkThreeAtOnce(visit: Visit): Promise<void> {
  const options: MatrixOptions = { ...PART, batches: [1], repeats: 4 };
  const other = visit.file('other/bench.sqlite.txt', '').replace('bench.sqlite.txt', 'bench.sqlite');
  const calls = [
    ['run', writeMatrix(visit, { ...options, name: 'once' })],
    ['run', writeMatrix(visit, { ...options, name: 'twice' })],
    ['run', writeMatrix(visit, { ...options, name: 'thrice' }), '--db', other],
  ];
  const ended = await Promise.all(calls.map((args) => visit.bench(args)));
  const [codes, found] = [ended.map(({ code }) => code).join(' '), overlaps([visit.store, other])];
  visit.check(
    'no two runs at one time',
    codes === '0 0 0' && found.pairs === 0,
    `exit codes ${codes}; ${found.pairs} overlaps among ${found.runs} runs`,
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

/** Its exit code, and the last line of what it printed. */
function endOf({ code, stdout, stderr }: Ended): string {
  const lines = (stdout.trim() || stderr.trim()).split('\n');
  return `exit code ${code}; ${lines.at(-1)?.trim() ?? ''}`;
}
