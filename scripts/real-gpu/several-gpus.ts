import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { type MatrixOptions, writeMatrix } from './matrices.ts';
import { overlaps, spansOf } from './overlaps.ts';
import type { Visit } from './visit.ts';

const ALL: MatrixOptions = {
  name: 'several',
  level: 1,
  precisions: ['fp16', 'fp8'],
  batches: [1, 8],
  cudaGraph: ['on', 'off'],
  repeats: 3,
};

/** Visit C: cells spread over all GPUs, alone and next to each other. */
export async function visitSeveralGpus(visit: Visit): Promise<void> {
  await visit.part('all GPUs', 120, () => checkAll(visit));
  await visit.part('same GPU again', 40, () => checkPinned(visit));
  await visit.part('neighbors', 60, () => checkNeighbors(visit));
  await visit.part('NUMA', 60, () => checkNuma(visit));
  await visit.part('logs', 1, () => checkLogs(visit));
}

async function checkAll(visit: Visit): Promise<void> {
  const { counts } = await visit.json(OUTPUTS.run, ['run', writeMatrix(visit, ALL), '--gpus', 'all']);
  visit.check('every run is measured', counts.failed + counts.unfit === 0, JSON.stringify(counts));
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

/** The same cells with all other GPUs idle: equal within their noise. */
async function checkNeighbors(visit: Visit): Promise<void> {
  for (const gpu of visit.rows(z.object({ gpu: z.string() }), 'SELECT DISTINCT gpu_uuid gpu FROM environments')) {
    const keys = visit.rows(
      z.object({ key: z.string() }),
      `SELECT DISTINCT cell_key key FROM runs JOIN environments USING (environment_id) WHERE gpu_uuid = ? AND role = 'timed'`,
      gpu.gpu,
    );
    const filter = keys.map(({ key }) => `key=${key}`).join(' | ');
    await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', gpu.gpu, '--filter', filter]);
    const { cells } = await visit.json(OUTPUTS.compare, ['compare', 'latest', 'latest~1', '--filter', filter]);
    const called = cells.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
    const worst = Math.max(...cells.map(({ changePercent }) => Math.abs(changePercent ?? 0)));
    const names = called.map(({ label, changePercent }) => `${label} ${changePercent?.toFixed(2)} %`);
    visit.check(
      'a busy neighbor changes nothing',
      called.length === 0,
      [`${cells.length} cells, ${worst.toFixed(2)} % at most`, ...names].join('; '),
    );
    break;
  }
}

async function checkNuma(visit: Visit): Promise<void> {
  await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', 'all', '--numa', 'off']);
  await visit.bench(['run', writeMatrix(visit, ALL), '--gpus', 'all', '--numa', 'auto']);
  const { cells, counts } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  const changes = cells.map(
    ({ label, verdict, changePercent }) => `${label}: ${verdict} ${changePercent?.toFixed(2)} %`,
  );
  visit.check('numa off against auto', counts.failed === 0, changes.join('; '));
}
