import { join } from 'node:path';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { startContender } from './contender.ts';
import { checkLogs } from './logs.ts';
import { type MatrixOptions, writeMatrix } from './matrices.ts';
import { writeSlowerModel } from './slower-model.ts';
import type { Visit } from './visit.ts';

const SWEEPS = 20;
/** Seconds that a part needs besides the sweeps: three changed sweeps, each with pairs. */
const PAIRS_S = 150;

/** Ten cells, two runs of .3 s; a short build, because sweeps are what takes the time here. */
const GATE: MatrixOptions = {
  name: 'gate',
  level: 1,
  batches: [1, 2, 4, 8, 16],
  durationS: 0.3,
  warmUpMs: 50,
  repeats: 2,
};

/** Visit B: 20 sweeps without a change, then one with a change, and pairs with the last good engine. */
export async function visitReferee(visit: Visit): Promise<void> {
  await visit.part('sweeps without a change', 60, () => checkQuiet(visit));
  await visit.part('a slower model', 40, () => checkSlower(visit));
  await visit.part('the same engines again', 25, () => checkCleared(visit));
  await visit.part('a slower machine', 45, () => checkMachine(visit));
  await visit.part('logs', 1, () => checkLogs(visit));
}

async function checkQuiet(visit: Visit): Promise<void> {
  const matrix = writeMatrix(visit, GATE);
  let sweeps = 0;
  const alarmed: string[] = [];
  while (sweeps < SWEEPS && visit.leftS > PAIRS_S) {
    await visit.bench(['run', matrix, '--no-confirm']);
    const { findings } = await visit.json(OUTPUTS.check, ['check']);
    sweeps += 1;
    const alarms = findings.filter(({ state, isWarning }) => state === 'confirmed' && !isWarning);
    alarmed.push(...alarms.map(({ labels, direction }) => `sweep ${sweeps}: ${direction} ${labels.join(', ')}`));
  }
  const cells = visit.count('SELECT count(DISTINCT cell_key) n FROM runs WHERE cell_key IS NOT NULL');
  visit.check(
    'no finding',
    alarmed.length === 0,
    [`${sweeps} of ${SWEEPS} sweeps of ${cells} cells`, ...alarmed].join('; '),
  );
}

/** The ResNet with more behind its output, about 2 % at batch 1, with pairs; then with still more, and without pairs. */
async function checkSlower(visit: Visit): Promise<void> {
  const classes = visit.model('resnet').includes('tiny') ? 10 : 1000;
  for (const [how, count] of [
    ['--confirm', 3],
    ['--no-confirm', 9],
  ] as const) {
    const slower = join(visit.place.folder, `resnet-slower-${count}.onnx`);
    writeSlowerModel(visit.model('resnet'), slower, count, classes);
    const changed = visit.with('resnet', slower);
    await changed.bench(['run', writeMatrix(changed, GATE, `gate-slower-${count}`), how]);
    const { findings } = await visit.json(OUTPUTS.check, ['check']);
    const { cells } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
    const large = cells.filter(({ changePercent }) => (changePercent ?? 0) >= 2);
    const reported = findings.filter(
      ({ direction, isNew, state }) => direction === 'slower' && isNew && state === 'confirmed',
    );
    const missed = large.filter(({ label }) => !reported.some(({ labels }) => labels.includes(label)));
    const changes = cells.map(({ label, changePercent }) => `${label} ${changePercent?.toFixed(2)} %`);
    const states = findings.map(
      ({ confirmedBy, direction, labels, state }) =>
        `${direction} ${state}${confirmedBy === null ? '' : ` by ${confirmedBy}`}: ${labels.length} cells`,
    );
    const figure = [...states, ...changes.filter((text) => text.startsWith('resnet'))].join('; ');
    visit.check(
      `${how}: changes of 2 % and more are reported in that sweep`,
      large.length > 0 && missed.length === 0,
      figure,
    );
  }
}

/** Back to the old model, which is still in the engine cache: whatever is suspected must be cleared or recovered. */
async function checkCleared(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, GATE), '--confirm']);
  const { findings } = await visit.json(OUTPUTS.check, ['check']);
  const slower = findings.filter(
    ({ direction, state }) => direction === 'slower' && ['confirmed', 'suspected', 'open'].includes(state),
  );
  const states = findings.map(({ state, direction, labels }) => `${state} ${direction}: ${labels.length} cells`);
  visit.check('nothing is slower', slower.length === 0, states.join('; ') || 'no finding');
}

/** A second process during the whole sweep and its pairs: the engines are not to blame. */
async function checkMachine(visit: Visit): Promise<void> {
  const contender = startContender(visit);
  try {
    await visit.bench([
      'run',
      writeMatrix(visit, { ...GATE, batches: [1, 8] }, 'gate-busy'),
      '--confirm',
      '--filter',
      'batch=1 | batch=8',
    ]);
  } finally {
    await contender.stop();
  }
  const { findings, series } = await visit.json(OUTPUTS.check, ['check']);
  const blamed = findings.filter(({ state, direction }) => state === 'confirmed' && direction === 'slower');
  const states = findings.map(({ state, labels }) => `${state}: ${labels.length} cells`);
  visit.check('the engines are not blamed', blamed.length === 0, [series[0]?.headline ?? '', ...states].join('; '));
}
