import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { QueryTimes } from '../src/trtexec/run-facts.ts';
import { isRecord } from '../src/text/unknown-values.ts';
import { TimesReader } from '../src/trtexec/exports/times.ts';
import { readRecorded } from './recordings.ts';
import type { Benchmark, Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { medianTimesMs, milliseconds, timedMs } from './timing.ts';
import { sized } from './size.ts';

const RECORDED = join('test', 'fixtures', 'trtexec', 'formats', 'enqueue-bound');
const QUERIES = sized(200_000, 1000);
const ROUNDS = sized(15, 1);
const CHUNK_BYTES = 1 << 18;

/** A large file of `--exportTimes`, from its bytes to columns, beside what `JSON.parse` alone takes for it. */
export const times: Benchmark = { name: 'times', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const path = join(folder, 'times.json');
  writeFileSync(path, manyQueries());
  const bytes = readFileSync(path);
  const { count, columns } = readTimes(bytes);
  checkSame(columns.computeMs ?? new Float64Array(0), JSON.parse(bytes.toString('utf8')));
  const { ours, plain } = await medianTimesMs(
    { ours: () => timedMs(() => readTimes(bytes)), plain: () => timedMs(() => JSON.parse(bytes.toString('utf8'))) },
    ROUNDS,
  );
  return [
    {
      kind: 'measured',
      what: `exported times of ${count} queries, ${Math.round(bytes.length / 1e6)} MB`,
      against: 'JSON.parse',
      ratio: plain / ours,
      unit: '×',
      target: { atLeast: 0.8 },
      ours: milliseconds(ours),
      theirs: milliseconds(plain),
    },
  ];
}

/** In pieces, as they come from the disk. */
function readTimes(bytes: Buffer): QueryTimes {
  const reader = new TimesReader();
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    reader.push(bytes.subarray(at, at + CHUNK_BYTES));
  }
  return reader.end();
}

/** The rows of a recorded file, as often as it takes. */
function manyQueries(): string {
  const text = readRecorded(RECORDED, 'times.json.br').toString('utf8');
  const rows = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const once = rows.split('{').length - 1;
  const copies = Array.from({ length: Math.ceil(QUERIES / once) }, () => rows);
  return `[\n  ${copies.join(',\n  ')}\n]\n`;
}

function checkSame(ours: Float64Array, rows: unknown): void {
  const isSame =
    Array.isArray(rows) &&
    rows.length === ours.length &&
    rows.every((row, index) => isRecord(row) && row['computeMs'] === ours[index]);
  if (!isSame) throw new Error('the times that were read are not those of the file');
}
