import { join } from 'node:path';

import { startContender } from './contender.ts';
import { writeMatrix } from './matrices.ts';
import { overlaps } from './overlaps.ts';
import type { Visit } from './visit.ts';

const ONE_CELL = { models: ['resnet'], batches: [1], repeats: 3 };

/** Another program on the GPU: every run of a sweep must say so. */
export async function checkSecondProcess(visit: Visit): Promise<void> {
  const contender = startContender(visit);
  try {
    await contender.isBusy;
    await visit.bench(['run', writeMatrix(visit, { ...ONE_CELL, name: 'contended' })]);
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

/** Two bench with one store, then a third one with a store of its own: never two runs at one time. */
export async function checkAtOnce(visit: Visit): Promise<void> {
  const other = join(visit.place.folder, 'other.sqlite');
  const call = (name: string, ...more: readonly string[]) => [
    'run',
    writeMatrix(visit, { ...ONE_CELL, name }),
    ...more,
  ];
  const calls = [call('once'), call('twice'), call('thrice', '--db', other)];
  for (const many of [2, 3]) {
    const ended = await Promise.all(calls.slice(0, many).map((args) => visit.bench(args)));
    const codes = ended.map(({ code }) => code);
    const { runs, pairs } = overlaps(many === 2 ? [visit.store] : [visit.store, other]);
    visit.check(
      `${many}: no two runs at one time`,
      codes.every((code) => code === 0) && pairs === 0,
      `exit codes ${codes.join(' ')}; ${pairs} overlaps of ${runs} runs`,
    );
  }
}
