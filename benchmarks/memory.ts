import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../src/text/unknown-values.ts';
import { benchWithPeak } from './processes.ts';
import { unpackRun, writeVerboseLog } from './recordings.ts';
import { absolute, type Benchmark, type Row } from './row.ts';
import { inTemporaryFolder, sized } from './timing.ts';

const LOG_BYTES = sized(1e9, 1e6);
const QUERIES = sized(4_000_000, 30_000);
const MAX_MB = 200;

/** The most memory that bench ever held: it must grow neither with a log nor with an export. */
export const memory: Benchmark = {
  name: 'memory',
  run: () => inTemporaryFolder(async (folder) => [await ofLog(folder), await ofTimes(folder)]),
};

async function ofLog(folder: string): Promise<Row> {
  const log = join(folder, 'trtexec.log');
  writeVerboseLog(log, LOG_BYTES);
  const { stdout, peakMb } = await benchWithPeak(['parse', '--json', log], folder);
  const parsed: unknown = JSON.parse(stdout);
  const runs: unknown = isRecord(parsed) ? parsed['runs'] : null;
  if (!Array.isArray(runs) || runs.length !== 1) throw new Error('the log was not understood');
  return row('bench parse', `verbose log of ${Math.round(statSync(log).size / 1e6)} MB`, peakMb);
}

async function ofTimes(folder: string): Promise<Row> {
  const run = join(folder, 'run');
  unpackRun(run, 'test', 'fixtures', 'trtexec', 'formats', 'enqueue-bound');
  const queries = repeatQueries(run);
  const { stdout, peakMb } = await benchWithPeak(['import', run, '--db', join(folder, 'bench.sqlite')], folder);
  if (!stdout.includes('1 run stored')) throw new Error(`the run was not stored:\n${stdout}`);
  const megabytes = Math.round(statSync(join(run, 'times.json')).size / 1e6);
  return row('bench import', `exported times of ${queries.toLocaleString('en')} queries, ${megabytes} MB`, peakMb);
}

/** Makes a recorded run one of many more queries: its exported rows again and again. */
function repeatQueries(run: string): number {
  const [log, times] = ['stdout.log', 'times.json'].map((name) => join(run, name));
  if (log === undefined || times === undefined) return 0;
  const text = readFileSync(times, 'utf8');
  const rows = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const once = rows.split('{').length - 1;
  const copies = Math.ceil(QUERIES / once);
  const file = openSync(times, 'w');
  for (let copy = 0; copy < copies; copy += 1) writeSync(file, `${copy === 0 ? '[\n  ' : '\n, '}${rows}`);
  writeSync(file, '\n]\n');
  closeSync(file);
  const logged = readFileSync(log, 'utf8');
  writeFileSync(log, logged.replace(/(Timing trace has) \d+/, `$1 ${once * copies}`));
  return once * copies;
}

function row(what: string, against: string, peakMb: number): Row {
  const ours = `${Math.round(peakMb)} MB`;
  return absolute(`${what}, most memory held`, peakMb, ' MB', { atMost: MAX_MB }, { against, ours });
}
