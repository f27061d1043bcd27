import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { ROOT, bench, finished, refusal, startBench, temporaryFolder } from '../support/bench.ts';
import { isGone, untilGone, writtenPids } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

const LOGS = ['neighbor.stderr.log.zst', 'neighbor.stdout.log.zst'];

/** A cell next to another model and one alone. Only neighbors are to run for 30 s. */
function place(neighborDoes: string, measuredDoes = 'well', env: Readonly<Record<string, string>> = {}) {
  const cwd = temporaryFolder();
  const matrix = stubMatrix(cwd, ['run: {timeoutS: 30}', 'repeats: 1']);
  const other = '{shapes: {input: [batch, 3]}, precisions: {fp16: {onnx: model.onnx}}, build: {opt: {batch: 2}}}';
  const text = readFileSync(matrix, 'utf8')
    .replace('batch: [1, 8]', 'batch: 8, with: [none, other]')
    .replace('axes:', `  other: ${other}\naxes:`);
  writeFileSync(matrix, text);
  const [db, journal, pids] = [join(cwd, 'bench.sqlite'), join(cwd, 'journal'), join(cwd, 'pids')];
  const rules = [
    { when: '--duration=30', does: neighborDoes },
    { when: '--exportTimes', does: measuredDoes },
  ];
  return {
    args: ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', '--filter'],
    here: { cwd, env: { STUB_RULES: JSON.stringify(rules), STUB_JOURNAL: journal, STUB_PIDS: pids, ...env } },
    journal,
    pids,
    /** By cell, the one alone first. */
    outcomes: () =>
      queryStore<{ axis: string; outcome: string; reason: string | null; folder: string }>(
        db,
        `SELECT c.axis_flags AS axis, r.outcome, r.reason, r.artefact_folder AS folder FROM runs r
         JOIN cells c USING (cell_key) WHERE role = 'timed' ORDER BY axis DESC`,
      ).map(({ folder, ...run }) => {
        const files = readdirSync(join(cwd, 'artefacts', folder));
        return { ...run, logs: files.filter((name) => name.startsWith('neighbor')).toSorted() };
      }),
  };
}

const ALONE = { axis: '{}', logs: [] };
const BESIDE = { axis: '{"with":"other"}', logs: LOGS };

test('runs while the cell is measured and is gone then; that they share the GPU is no fault of the run', async () => {
  const { args, here, journal, outcomes, pids } = place('lasts', 'well', {
    STUB_CONTENDED: JSON.stringify({ when: '--exportTimes', runs: [1, 2, 3] }),
  });
  expect((await bench([...args, 'model=small'], here)).code).toBe(4);
  const unfit = { ...ALONE, outcome: 'unfit', reason: 'contended' };
  // The one alone was measured again.
  expect(outcomes()).toEqual([unfit, unfit, { ...BESIDE, outcome: 'measured', reason: null }]);
  for (const pid of await writtenPids(pids)) expect(isGone(pid)).toBe(true);
  const started = readFileSync(journal, 'utf8')
    .trimEnd()
    .split('\n')
    .filter((line) => line.startsWith('--loadEngine'));
  expect(started[started.findIndex((line) => line.includes('--duration=30')) + 1]).toContain('--duration=3 ');
});

test.each([
  ['a run that fails says why itself', 'lasts', 'fails', 'outOfMemory'],
  ['a neighbor that does not load', 'fails', 'well', 'neighborEnded'],
])('%s', async (_, neighborDoes, measuredDoes, reason) => {
  const { args, here, outcomes, pids } = place(neighborDoes, measuredDoes);
  const { code, stderr } = await bench([...args, 'model=small & with=other'], here);
  expect([code, outcomes()]).toEqual([4, [{ ...BESIDE, outcome: 'failed', reason }]]);
  if (reason === 'neighborEnded') {
    const pattern = /its neighbor ended before it did: exit code 1; .*\[E\] Error Code 1: Cuda Runtime \(out of/;
    expect(stderr).toMatch(pattern);
  } else for (const pid of await writtenPids(pids)) expect(isGone(pid)).toBe(true);
});

test('Ctrl-C ends both', async () => {
  const { args, here, journal, pids } = place('lasts', 'hangs');
  const child = startBench([...args, 'model=small & with=other'], here);
  const ended = finished(child);
  while (!existsSync(journal) || !readFileSync(journal, 'utf8').includes('--exportTimes')) await sleep(50);
  const [neighbor] = await writtenPids(pids);
  expect(isGone(neighbor)).toBe(false);
  child.kill('SIGINT');
  expect((await ended).code).toBe(130);
  for (const pid of await writtenPids(pids)) await untilGone(pid);
}, 60_000);

test('recordings do not know what ran next to a cell: refused', async () => {
  const cwd = temporaryFolder();
  const matrix = join(cwd, 'with.yaml');
  const base = join(ROOT, 'matrices', 'quickstart-pair.yaml');
  writeFileSync(matrix, `extends: ${base}\naxes: {with: [none, vit_small]}\n`);
  expect(await bench(['run', matrix, '--db', join(cwd, 'bench.sqlite')], { cwd })).toEqual(
    refusal('with is on an axis, and recordings answer the same whatever it is'),
  );
});
