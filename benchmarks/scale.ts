import { join } from 'node:path';

import { makeLargeStore, RUNS_PER_NIGHT, someCellKey } from './large-store.ts';
import { bench } from './processes.ts';
import { absolute, type Benchmark, type Row, type Target, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const SMALL_RUNS = sized(10_000, 720);
const LARGE_RUNS = sized(252_000, 1080);
const SAMPLED_RUNS = sized(73_000, 720);
const QUERIES = 1000;
const MAX_TREND_S = 0.6;
const ROUNDS = sized(9, 1);

/** Whether questions about the last nights take longer when years of nights lie before them. */
export const scale: Benchmark = { name: 'scale', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const small = join(folder, 'small.sqlite');
  const large = join(folder, 'large.sqlite');
  makeLargeStore(small, Math.ceil(SMALL_RUNS / RUNS_PER_NIGHT));
  makeLargeStore(large, Math.ceil(LARGE_RUNS / RUNS_PER_NIGHT));
  // Not in a clone: the sweeps of these stores are of no branch.
  const timeMs = async (args: readonly string[], db: string): Promise<number> =>
    (await bench([...args, '--db', db], { cwd: folder }, [0, 1])).wallMs;
  const rowOf = async (args: readonly string[], target: Target | null): Promise<Row> => {
    const times = await medianTimesMs({ small: () => timeMs(args, small), large: () => timeMs(args, large) }, ROUNDS);
    const what = `bench ${args.join(' ')}, ${LARGE_RUNS.toLocaleString('en')} runs`;
    return versus(what, '10 thousand runs', [times.large, times.small], target);
  };
  // Seven nights are there in both stores.
  const week = ['--last', '7'];
  // A morning as any other: the check before it kept what it read. It looks at 240 sweeps, of which the small store has few.
  for (const db of [small, large]) await timeMs(['check'], db);
  return [
    await rowOf(['check'], { atMost: 1.1 }),
    await rowOf(['compare'], { atMost: 1.1 }),
    await rowOf(['trend', someCellKey().slice(0, 8), ...week], null),
    await rowOf(['trend', ...week], null),
    await trendRow(folder),
  ];
}

/** Of all cells, in a store that is mostly samples. */
async function trendRow(folder: string): Promise<Row> {
  const db = join(folder, 'sampled.sqlite');
  makeLargeStore(db, Math.ceil(SAMPLED_RUNS / RUNS_PER_NIGHT), QUERIES);
  const trend = async (): Promise<number> => (await bench(['trend', '--db', db], { cwd: folder })).wallMs;
  const times = await medianTimesMs({ trend }, ROUNDS);
  const what = `bench trend, ${SAMPLED_RUNS.toLocaleString('en')} runs of ${QUERIES} queries`;
  return absolute(what, times.trend / 1000, ' s', { atMost: MAX_TREND_S });
}
