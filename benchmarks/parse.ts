import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { isRecord } from '../src/text/unknown-values.ts';
import { findTool, runProcess } from './processes.ts';
import { writeVerboseLog } from './recordings.ts';
import { type Benchmark, needing, type Row, type Target, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized, timedMs } from './timing.ts';

const LOG_BYTES = sized(256e6, 1e6);
const ROUNDS = sized(7, 1);
const OURS = join(import.meta.dirname, 'parse-log.ts');
const PYTHONS = join(import.meta.dirname, 'parse_trtexec_log.py');

/** A large verbose log through the streaming parser, through a script of the same purpose in Python, and counted. */
export const parse: Benchmark = { name: 'parse', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const log = join(folder, 'trtexec.log');
  writeVerboseLog(log, LOG_BYTES);
  const what = `verbose log of ${Math.round(statSync(log).size / 1e6)} MB`;
  const python = findTool('python3');
  const missing = needing([python], what, 'Python');
  if (missing !== null || python.path === null) return missing === null ? [] : [missing];
  const { path } = python;
  const ours = () => reading(process.execPath, [OURS, log]);
  const regexes = () => reading(path, [PYTHONS, log]);
  const skipping = () => reading(path, [PYTHONS, log, 'skip-first']);
  checkSame(await ours(), await regexes(), await skipping());
  const times = await medianTimesMs(
    {
      ours: async () => (await ours()).timeMs,
      regexes: async () => (await regexes()).timeMs,
      skipping: async () => (await skipping()).timeMs,
      counting: () => timedMs(() => runProcess('wc', ['-l', log])),
    },
    ROUNDS,
  );
  const row = (against: string, theirs: number, target: Target | null): Row =>
    versus(what, against, [times.ours, theirs], target, true);
  return [
    row('Python, an expression a line', times.regexes, { atLeast: 10 }),
    row('Python, verbose lines told by a column', times.skipping, null),
    row('wc -l, the whole process', times.counting, { atLeast: 0.5 }),
  ];
}

interface Reading {
  /** From opening the file to having every field, without the start of the process. */
  readonly timeMs: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function reading(file: string, args: readonly string[]): Promise<Reading> {
  const { stdout } = await runProcess(file, args);
  const parsed: unknown = JSON.parse(stdout);
  if (!isRecord(parsed)) throw new Error(`${file}: printed no object`);
  const { seconds: timeS, ...fields } = parsed;
  return { timeMs: Number(timeS) * 1000, fields };
}

/** A faster parser that reads something else would prove nothing. */
function checkSame(ours: Reading, ...others: readonly Reading[]): void {
  for (const { fields } of others) {
    const differing = Object.keys({ ...fields, ...ours.fields }).filter(
      (name) => !isDeepStrictEqual(fields[name], ours.fields[name]),
    );
    if (differing.length > 0) {
      const shown = differing.map(
        (name) => `${name}: ${JSON.stringify(ours.fields[name])} / ${JSON.stringify(fields[name])}`,
      );
      throw new Error(`the parsers read different values: ${shown.join('; ').slice(0, 2000)}`);
    }
  }
}
