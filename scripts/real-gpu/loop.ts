import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { execa } from 'execa';
import { z } from 'zod';

import { writeMatrix } from './matrices.ts';
import { NEWEST_SWEEP, type Visit } from './visit.ts';

const RUNS = 10;
const LIMIT = 1.03;

/** What bench adds to a loop over the same command lines: 10 runs of one second, the loop before and after it. */
export async function checkLoop(visit: Visit): Promise<void> {
  const matrix = writeMatrix(visit, { name: 'loop', models: ['resnet'], durationS: 1, warmUpMs: 200, repeats: RUNS });
  // Builds, if nothing did so before: the build is no part of the loop.
  await visit.bench(['run', matrix, '--repeats', '1']);
  const before = await loopS(visit);
  const from = visit.place.clock();
  const { seconds } = await visit.bench(['run', matrix]);
  const around = aroundRuns(visit, from, from + seconds);
  const after = await loopS(visit);
  const ratio = seconds / ((before + after) / 2);
  const figure = `${RUNS} runs of 1 s: ${seconds.toFixed(2)} s, loop ${before.toFixed(2)} and ${after.toFixed(2)} s: ${ratio.toFixed(3)} times (at most ${LIMIT}); ${around}`;
  visit.check('little more than the loop', ratio <= LIMIT, figure);
}

/** Where the time goes that is no run's: before the first one of the newest sweep, between two, after the last one. */
function aroundRuns(visit: Visit, from: number, to: number): string {
  const runs = visit.rows(
    z.object({ startS: z.number(), wallS: z.number() }),
    `SELECT (julianday(started_at) - 2440587.5) * 86400 AS startS, wall_s AS wallS FROM runs
       WHERE ${NEWEST_SWEEP} ORDER BY started_at`,
  );
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return 'no run';
  const wallS = runs.reduce((sum, run) => sum + run.wallS, 0);
  const betweenS = (last.startS + last.wallS - first.startS - wallS) / Math.max(1, runs.length - 1);
  const [beforeS, afterS] = [first.startS - from, to - last.startS - last.wallS];
  return `${beforeS.toFixed(2)} s before the first run, ${betweenS.toFixed(3)} s between two, ${afterS.toFixed(2)} s after the last; a run ${(wallS / runs.length).toFixed(3)} s`;
}

/** Seconds of a loop over the newest command line of bench. */
async function loopS(visit: Visit): Promise<number> {
  const [run] = visit.rows(
    z.object({ artefact_folder: z.string() }),
    `SELECT artefact_folder FROM runs JOIN sweeps USING (sweep_id) WHERE matrix = 'loop' AND role = 'timed' ORDER BY runs.started_at DESC LIMIT 1`,
  );
  const path = join(visit.place.folder, 'artefacts', run?.artefact_folder ?? '', 'run.json');
  const { argv } = z.object({ argv: z.array(z.string()) }).parse(JSON.parse(readFileSync(path, 'utf8')));
  const times = join(visit.place.folder, 'loop-times.json');
  const args = argv.slice(1).map((arg) => (arg.startsWith('--exportTimes=') ? `--exportTimes=${times}` : arg));
  const from = visit.place.clock();
  for (let turn = 0; turn < RUNS; turn += 1) {
    await execa(visit.place.trtexec, args, { cwd: visit.place.folder });
  }
  return visit.place.clock() - from;
}
