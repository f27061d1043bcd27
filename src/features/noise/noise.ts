import * as z from 'zod';

import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError, type ExitCode } from '../../errors.ts';
import { HISTORY, NEWEST_SWEEPS, noiseOf } from '../../judge/history/noise.ts';
import { type KnownNoise, squaresAround, visibleChange, withoutFarRun } from '../../judge/run-noise.ts';
import { type KeyedCell, aboutCell, inLabelOrder } from '../../records/cell.ts';
import { type MetricId, isOfBuild, metricOf, metricWord } from '../../records/metric.ts';
import * as parts from '../../records/output-parts.ts';
import type { Sweep } from '../../records/sweep.ts';
import { chooseCells, metricNamed, namedCells } from '../../selection/by-name.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { resolveSide } from '../../selection/sides.ts';
import { median } from '../../statistics/order-statistics.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellKeysOf } from '../../store/runs/runs.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import { type Look, dotted, wrapLines, wrapWords } from '../../terminal/look.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { numberColumn } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import type { NoiseOptions } from './command.ts';

export async function noise(names: readonly string[], options: NoiseOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const metric = metricNamed(db, options.metric);
    if (metric !== null && isOfBuild(metric)) {
      const why = `a build has one ${metricOf(metric).label}, even if its engine runs often`;
      throw new UsageError(`--metric ${metricWord(metric)}: ${why}`);
    }
    const { note, sweeps } = await resolveSide(db, 'latest', io, { branch: options.branch });
    const [newest] = sweeps;
    if (newest === undefined) throw new UsageError('no sweep is finished');
    const all = seriesOf(db, newest, options.last).toReversed();
    const [first = newest] = all;
    const ids = all.map(({ sweepId }) => sweepId);
    const known = inLabelOrder([...findCells(db, [...cellKeysOf(db, ids)]).values()]);
    const cells = chooseCells(db, namedCells(db, known, names), options.filter);
    if (cells.length === 0) throw new UsageError('no cell of these sweeps matches; see `bench ls cells`');
    const { copies, measured } = measuredIn(db, all, cells, metric);
    const noisy = measured.map((one) => noisyCell(one, cells.length));
    const isSweepNoiseKnown = noisy.some(({ sweepPercent }) => sweepPercent !== null);
    const farRuns = measured.flatMap(({ sweeps: own }) => own).reduce((sum, one) => sum + one.farRuns, 0);
    const notes = [
      farRuns > 0 && `${count(farRuns, 'run')} far from the others of the sweep left out`,
      copies > 0 && `${count(copies, 'sweep')} with the same recorded runs as an earlier one left out`,
      !isSweepNoiseKnown &&
        `sweep-to-sweep noise needs at least ${HISTORY.leastSweeps} sweeps: until then, the detectable change includes only run noise`,
    ].filter((text) => text !== false);
    const { branch, matrix, provenance, sweepId } = newest;
    const series = { sweepId, firstSweepId: first.sweepId, branch, matrix, provenance };
    const output: NoiseOutput = { schemaVersion: 3, ...series, sweeps: ids.length - copies, cells: noisy, notes };
    return printResult(io, options, output, (_, look) => {
      const [from = '', to = ''] = [first, newest].map(({ startedAt }) => startedAt?.slice(0, 10));
      const named = [matrix ?? newest.name ?? '', branch ?? ''].map(printable);
      const counted = [count(noisy.length, 'cell'), count(output.sweeps, 'sweep')];
      const about = dotted([...named, provenance, ...counted, from === to ? from : `${from} to ${to}`]);
      return [
        ...wrapWords(headline(noisy), look.columns).map(look.style.strong),
        ...wrapLines(look, 0, [about, ...(note === null ? [] : [note])]),
        ...noiseTable(withCells(noisy, new Map(cells.map((cell) => [cell.key, cell]))), look),
        ...(notes.length === 0 ? [] : ['', ...wrapLines(look, 0, notes).map(look.style.dim)]),
      ];
    });
  });
}

export function noiseOfCell(db: StoreDatabase, cell: KeyedCell, metric: MetricId, series: Sweep): KnownNoise {
  const sweeps = seriesOf(db, series, NEWEST_SWEEPS).toReversed();
  return noiseOfSweeps(measuredIn(db, sweeps, [cell], metric).measured.flatMap((one) => one.sweeps));
}

const SHOWN_RUNS = [1, 3, 5, 10] as const;
const TYPICAL_RUNS = 3;
const SHOWN_CELLS = 24;

function noisyCell({ cell, metric, sweeps }: MeasuredCell, cells: number): NoisyCell {
  const known = noiseOfSweeps(sweeps);
  return {
    ...aboutCell(cell, metric),
    runs: sweeps.reduce((sum, { values }) => sum + values.length, 0),
    sweeps: sweeps.length,
    runPercent: percentOf(known.run),
    sweepPercent: percentOf(known.sweep),
    visible: SHOWN_RUNS.map((runs) => ({ runs, percent: percentOf(visibleChange(known, runs, cells)) })),
  };
}

function percentOf(deviation: number | null): number | null {
  return deviation === null ? null : percentOfLog(deviation);
}

function headline(cells: readonly NoisyCell[]): string {
  const percents = cells.flatMap((cell) => visibleWith(cell, TYPICAL_RUNS) ?? []);
  const typical = median(percents);
  if (typical === null) return 'the noise of runs is not known yet: no cell has two runs in a sweep';
  const [least, most] = [Math.min(...percents), Math.max(...percents)].map((percent) => formatNumber(percent, 2));
  const range = least === most ? '' : ` (${least} to ${most} %)`;
  return `${TYPICAL_RUNS} runs of each side show a change of ${percentText(typical)} in a typical cell${range}`;
}

function visibleWith({ visible }: NoisyCell, runs: number): number | null {
  return visible.find((shown) => shown.runs === runs)?.percent ?? null;
}

type NoisyRow = NoisyCell & { readonly cell: KeyedCell };

function noiseTable(cells: readonly NoisyRow[], look: Look): string[] {
  const weightOf = (cell: NoisyRow): number => visibleWith(cell, TYPICAL_RUNS) ?? cell.sweepPercent ?? -1;
  const known = cells.filter((cell) => weightOf(cell) >= 0).toSorted((a, b) => weightOf(b) - weightOf(a));
  if (known.length === 0) return [];
  const table = cellTable<NoisyRow>(
    known.slice(0, SHOWN_CELLS),
    [
      numberColumn('runs', ({ runs }) => String(runs), 5),
      numberColumn('run ±', ({ runPercent }) => percentText(runPercent), 2),
      numberColumn('sweep ±', ({ sweepPercent }) => percentText(sweepPercent), 2),
      ...SHOWN_RUNS.map((runs) => {
        const textOf = (row: NoisyRow): string => percentText(visibleWith(row, runs));
        return numberColumn(count(runs, 'run'), textOf, runs === TYPICAL_RUNS ? 0 : 4);
      }),
    ],
    look,
  );
  const more = known.length - SHOWN_CELLS;
  const meaning = 'run ±, sweep ±: standard deviations; with N runs: the change that is visible';
  const notes = [meaning, ...(more > 0 ? [`and ${more} quieter cells: --json has all`] : [])];
  return ['', ...table, ...wrapLines(look, 0, notes).map(look.style.dim)];
}

function percentText(percent: number | null): string {
  return percent === null ? '–' : `${formatNumber(percent, 2)} %`;
}

type MeasuredCell = ReturnType<typeof measuredIn>['measured'][number];

/** The runs of each cell by sweep, without replays of the same runs, which would look like a machine without noise. */
function measuredIn(db: StoreDatabase, sweeps: readonly Sweep[], cells: readonly KeyedCell[], metric: MetricId | null) {
  const measured = cellHistories(db, sweeps, cells, metric).map(({ history, runs, ...one }) => ({
    ...one,
    sweeps: history.places.map((place, index) => {
      const all = runs[index]?.map(({ value }) => value) ?? [];
      const values = withoutFarRun(all);
      return { place, values, farRuns: all.length - values.length };
    }),
  }));
  const texts = sweeps.map((_, at) => {
    const inSweep = measured.map(({ sweeps: all }) => all.find(({ place }) => place === at)?.values.toSorted());
    return inSweep.some(Boolean) ? JSON.stringify(inSweep) : null;
  });
  const isCopy = texts.map((text, place) => text !== null && texts.indexOf(text) < place);
  const own = measured.map((one) => ({ ...one, sweeps: one.sweeps.filter(({ place }) => isCopy[place] !== true) }));
  return { copies: isCopy.filter(Boolean).length, measured: own };
}

/** Excess variance of a median over a mean, for normal values. */
const MEDIAN_VARIANCE = Math.PI / 2;

/** Standard deviations of runs around the mean of their sweep, and of sweeps beyond that, without changes. */
function noiseOfSweeps(sweeps: MeasuredCell['sweeps']): KnownNoise {
  const squares = sweeps.reduce((sum, { values }) => sum + squaresAround(values), 0);
  const within = sweeps.reduce((sum, { values }) => sum + values.length - 1, 0);
  const run = within === 0 ? null : Math.sqrt(squares / within);
  if (sweeps.length < HISTORY.leastSweeps) return { run, sweep: null, degrees: within };
  const { sigma } = noiseOf(Float64Array.from(sweeps, ({ values }) => Math.log(median(values) ?? Number.NaN)));
  const runs = median(sweeps.map((sweep) => sweep.values.length)) ?? 1;
  const byRuns = (runs > 2 ? MEDIAN_VARIANCE : 1) * ((run ?? 0) ** 2 / runs);
  return { run, sweep: Math.sqrt(Math.max(0, sigma ** 2 - byRuns)), degrees: Math.max(within, sweeps.length - 1) };
}

const percent = z.number().min(0).nullable();

export const noiseOutput = parts.outputOfVersion(3, 'bench noise --json', {
  sweepId: parts.id.describe('The newest sweep of the series'),
  firstSweepId: parts.id.describe('The oldest sweep used'),
  branch: z.string().nullable(),
  matrix: z.string().nullable(),
  provenance: parts.provenance,
  sweeps: parts.count,
  cells: z.array(
    z.strictObject({
      ...parts.aboutCell,
      runs: parts.count,
      sweeps: parts.count,
      runPercent: percent.describe('Standard deviation of a run within its sweep'),
      sweepPercent: percent.describe(
        'Standard deviation between sweeps beyond run noise; null with fewer than 8 sweeps',
      ),
      visible: z
        .array(z.strictObject({ runs: parts.count, percent }))
        .describe('Detectable effect by number of runs per side: found nine times in ten'),
    }),
  ),
  notes: z.array(z.string()),
});

type NoiseOutput = parts.OutputOf<typeof noiseOutput>;

type NoisyCell = NoiseOutput['cells'][number];
