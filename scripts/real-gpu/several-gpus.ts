import { join } from 'node:path';

import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { type MatrixOptions, writeMatrix } from './matrices.ts';
import { overlaps, spansOf } from './sharing.ts';
import { changesText, type Visit } from './visit.ts';

const ALL: MatrixOptions = {
  name: 'several',
  precisions: ['fp16', 'fp8'],
  batches: [1, 8],
  cudaGraph: ['on', 'off'],
  repeats: 3,
};

/** Visit C: cells spread over all GPUs, alone and next to each other. */
export async function visitSeveralGpus(visit: Visit): Promise<void> {
  await visit.part('all GPUs', 80, () => checkAll(visit));
  await visit.part('same GPU again', 40, () => checkPinned(visit));
  await visit.part('neighbors', 30, () => checkNeighbors(visit));
  await visit.part('a build next door', 35, () => checkBuilds(visit));
  await visit.part('NUMA', 60, () => checkNuma(visit));
  await visit.part('logs', 0, () => checkLogs(visit));
}

async function checkAll(visit: Visit): Promise<void> {
  await visit.run([writeMatrix(visit, ALL), '--gpus', 'all']);
  const { runs, pairs } = overlaps([visit.store]);
  visit.check('one run at a time on each GPU', pairs === 0, `${runs} runs, ${pairs} overlaps`);
}

/** Where each cell ran, and how long each GPU was busy. */
async function checkPinned(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', 'all']);
  const moved = visit.count(
    `SELECT count(*) n FROM (SELECT cell_key FROM runs JOIN environments USING (environment_id)
       WHERE cell_key IS NOT NULL AND role = 'timed' GROUP BY cell_key HAVING count(DISTINCT gpu_uuid) > 1)`,
  );
  visit.check('cells stay on their GPU', moved === 0, `${moved} cells on more than one GPU`);
  const spans = spansOf([visit.store]).toSorted((a, b) => a.startMs - b.startMs);
  const gpus = [...new Set(spans.map(({ gpu }) => gpu))];
  const newest = spans.slice(spans.length / 2);
  const whole = Math.max(...newest.map(({ endMs }) => endMs)) - Math.min(...newest.map(({ startMs }) => startMs));
  const busy = gpus.map((gpu) => {
    const own = newest.filter((span) => span.gpu === gpu);
    return own.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) / whole;
  });
  const figure = busy.map((share, place) => `GPU ${place}: ${(100 * share).toFixed(0)} %`).join(', ');
  visit.check('no GPU idles for half of the time', gpus.length > 1 && Math.min(...busy) > 0.5, figure);
}

/** The cells of the first GPU with all other GPUs idle: equal within their noise. */
async function checkNeighbors(visit: Visit): Promise<void> {
  const { args, filter } = cellsOfFirst(visit);
  await visit.bench(args);
  await checkEqual(visit, 'a busy neighbor changes nothing', ['latest', 'latest~1', '--filter', filter]);
}

/** The same cells while another bench builds for the second GPU, in a store of its own: equal to them alone. */
async function checkBuilds(visit: Visit): Promise<void> {
  const { args, filter, others } = cellsOfFirst(visit);
  // Slow builds of both models, which nothing else here uses: they outlast the sweep, and are ended with it.
  const matrix = writeMatrix(visit, { name: 'built', optBatch: 2, level: 5 });
  const build = ['run', matrix, '--gpus', others[0] ?? '', '--db', join(visit.place.folder, 'other.sqlite')];
  const from = visit.place.clock();
  const builder = visit.start(build);
  await visit.bench(args);
  builder.kill('SIGINT');
  const { code } = visit.ended(build, from, await builder);
  visit.check('it lasted longer than the sweep', code === 130, `exit code ${code}, ${others.length} other GPUs`);
  await checkEqual(visit, 'a build next door changes nothing', ['latest~1', 'latest', '--filter', filter]);
}

/** What measures the cells of the first GPU alone, and the UUIDs of the others. */
function cellsOfFirst(visit: Visit) {
  const gpus = visit.rows(
    z.object({ gpu: z.string() }),
    `SELECT DISTINCT gpu_uuid gpu FROM environments WHERE gpu_uuid IS NOT NULL ORDER BY gpu_uuid`,
  );
  const [first = '', ...others] = gpus.map(({ gpu }) => gpu);
  const keys = visit.rows(
    z.object({ key: z.string() }),
    `SELECT DISTINCT cell_key key FROM runs JOIN environments USING (environment_id) WHERE gpu_uuid = ? AND role = 'timed'`,
    first,
  );
  const filter = keys.map(({ key }) => `key=${key}`).join(' | ');
  return { args: ['run', writeMatrix(visit, ALL), '--gpus', first, '--filter', filter], filter, others };
}

async function checkEqual(visit: Visit, name: string, args: readonly string[]): Promise<void> {
  const { cells } = await visit.json(OUTPUTS.compare, ['compare', ...args]);
  const called = cells.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
  visit.check(name, called.length === 0, changesText(cells));
}

async function checkNuma(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', 'all', '--numa', 'off']);
  await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', 'all', '--numa', 'auto']);
  const { cells, counts } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  visit.check('numa off against auto', counts.failed === 0, changesText(cells));
}
