import { join } from 'node:path';

import { makeFinishedRun } from '../test/support/slurm-shards.ts';
import { bench } from './processes.ts';
import type { Benchmark, Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { sized } from './size.ts';

const SHARDS = sized(1400, 4);
const TARGET_S = 3.75;

/** `bench slurm collect` of a run with so many shards, whole processes; then the same once more, with nothing to do. */
export const collect: Benchmark = { name: 'collect', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const store = join(folder, 'bench.sqlite');
  const run = join(folder, 'run');
  await makeFinishedRun(run, store, SHARDS);
  const args = ['slurm', 'collect', run, '--db', store, '--json'];
  const first = await bench(args);
  const again = await bench(args);
  const [taken, nothing] = [first, again].map(({ stdout }) => JSON.parse(stdout));
  if (taken.stored !== 2 * SHARDS || taken.counts.done !== SHARDS) {
    throw new Error(`stored ${taken.stored} runs of ${taken.counts.done} shards`);
  }
  if (nothing.stored !== 0 || nothing.alreadyStored !== 2 * SHARDS) {
    throw new Error(`collected again, ${nothing.stored} runs were stored`);
  }
  return [
    row(`\`bench slurm collect\` of ${SHARDS} shards, a build and a run each`, first.wallMs),
    row('the same once more: no new rows', again.wallMs),
  ];
}

function row(what: string, wallMs: number): Row {
  const seconds = wallMs / 1000;
  return {
    kind: 'measured',
    what,
    against: `${TARGET_S} s`,
    ratio: seconds,
    unit: ' s',
    target: { atMost: TARGET_S },
    ours: `${seconds.toFixed(1)} s`,
    theirs: '',
  };
}
