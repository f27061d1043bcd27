import { globSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { QueryTimes } from '../src/trtexec/run-facts.ts';
import { encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { TimesReader } from '../src/trtexec/exports/times.ts';
import { makeLargeStore, RUNS_PER_NIGHT } from './large-store.ts';
import { madeUpTimes } from './made-up-times.ts';
import { ROOT } from './processes.ts';
import { readRecorded } from './recordings.ts';
import type { Benchmark, Row } from './row.ts';
import { sized } from './size.ts';
import { inTemporaryFolder } from './temporary-folder.ts';

const QUERIES = 1000;
const MAX_KB = 5;
const NIGHTS = sized(20, 1);
/** With fewer queries what is learned of a run is not worth what it takes to learn it. */
const FEWEST = 200;

/** What the samples of a thousand queries take in the store, and what a run takes in all. */
export const storeSize: Benchmark = { name: 'store-size', run: () => inTemporaryFolder((folder) => measure(folder)) };

async function measure(folder: string): Promise<Row[]> {
  const files = globSync('{recordings,test/fixtures}/**/times.json.br', { cwd: ROOT });
  const recorded = files.slice(0, sized(files.length, 5)).map(readTimes);
  const sizes = recorded.filter(({ count }) => count >= FEWEST).map(bytesOf);
  const path = join(folder, 'bench.sqlite');
  makeLargeStore(path, NIGHTS, QUERIES);
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  return [
    row(`samples of ${QUERIES} queries, mean of ${sizes.length} recorded runs`, mean, MAX_KB),
    row('the same, most of any of these', Math.max(...sizes), null),
    row('the same, made up', bytesOf(madeUpTimes(QUERIES)), MAX_KB),
    row('a run with made-up samples, its rows and indices too', statSync(path).size / (NIGHTS * RUNS_PER_NIGHT), null),
  ];
}

function readTimes(file: string): QueryTimes {
  const reader = new TimesReader();
  reader.push(readRecorded(dirname(file), 'times.json.br'));
  return reader.end();
}

/** Of the first thousand queries; of fewer as if they were a thousand. */
function bytesOf({ count, columns }: QueryTimes): number {
  const first = Object.entries(columns).map(([name, values]) => [name, values.slice(0, QUERIES)] as const);
  const queries = Math.min(count, QUERIES);
  return (encodeSamples({ count: queries, columns: Object.fromEntries(first) }).length * QUERIES) / queries;
}

function row(what: string, bytes: number, maxKb: number | null): Row {
  const target = maxKb === null ? null : { atMost: maxKb };
  const ours = `${Math.round(bytes)} bytes`;
  return { kind: 'measured', what, against: '', ratio: bytes / 1000, unit: ' kB', target, ours, theirs: '' };
}
