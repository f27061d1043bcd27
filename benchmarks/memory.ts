import { statSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../src/text/unknown-values.ts';
import { benchWithPeak } from './peak-memory.ts';
import type { Benchmark, Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { writeVerboseLog } from './verbose-log.ts';
import { sized } from './size.ts';

const LOG_BYTES = sized(1e9, 1e6);

/** The most memory that `bench parse` ever held for a log of a gigabyte: it must not grow with the log. */
export const memory: Benchmark = { name: 'memory', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const log = join(folder, 'trtexec.log');
  writeVerboseLog(log, LOG_BYTES);
  const { stdout, peakMb } = await benchWithPeak(['parse', '--json', log], folder);
  const parsed: unknown = JSON.parse(stdout);
  const runs: unknown = isRecord(parsed) ? parsed['runs'] : null;
  if (!Array.isArray(runs) || runs.length !== 1) throw new Error('the log was not understood');
  return [
    {
      kind: 'measured',
      what: 'bench parse, most memory held',
      against: `verbose log of ${Math.round(statSync(log).size / 1e6)} MB`,
      ratio: peakMb,
      unit: ' MB',
      target: { atMost: 200 },
      ours: `${Math.round(peakMb)} MB`,
      theirs: '',
    },
  ];
}
