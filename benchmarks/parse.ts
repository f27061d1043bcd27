import { statSync } from 'node:fs';
import { join } from 'node:path';

import { readChunks } from '../src/files/files.ts';
import { TrtexecLogParser } from '../src/trtexec/log/trtexec-log.ts';
import { runProcess } from './processes.ts';
import { writeVerboseLog } from './recordings.ts';
import { type Benchmark, type Row, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized, timedMs } from './timing.ts';

const LOG_BYTES = sized(256e6, 1e6);
const ROUNDS = sized(7, 1);

/** A large verbose log through the streaming parser, and counted. */
export const parse: Benchmark = { name: 'parse', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const log = join(folder, 'trtexec.log');
  writeVerboseLog(log, LOG_BYTES);
  const times = await medianTimesMs(
    { ours: () => timedMs(() => parseLog(log)), counting: () => timedMs(() => runProcess('wc', ['-l', log])) },
    ROUNDS,
  );
  const what = `verbose log of ${Math.round(statSync(log).size / 1e6)} MB`;
  return [versus(what, 'wc -l, the whole process', [times.ours, times.counting], { atLeast: 0.5 })];
}

async function parseLog(path: string): Promise<void> {
  const parser = new TrtexecLogParser();
  for await (const chunk of readChunks(path)) parser.push(chunk);
  const [run, ...others] = parser.end().runs;
  if (run === undefined || run.measurement === null || others.length > 0) throw new Error('the log was not understood');
}
