import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { KnownNoise } from '../../judge/detectable-effect.ts';
import { HISTORY, NEWEST_SWEEPS } from '../../judge/history/settings.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { gateMetric, isMetric, isOfBuild, type MetricId, metricOf, metricWord } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { chooseCells, metricNamed, namedCells } from '../../selection/by-name.ts';
import { resolveSide } from '../../selection/sides.ts';
import { median } from '../../statistics/median.ts';
import { loadedEngines } from '../../store/builds/loaded-engines.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { cellKeysOf } from '../../store/runs/runs.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { dotted, wrapWords } from '../../terminal/text-width.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { noiseOfSweeps, noisyCell, type SweepRuns, sweepRunsOf, withoutCopies } from './cell-noise.ts';
import type { NoiseOptions } from './command.ts';
import { type NoiseOutput, type NoisyCell, SHOWN_RUNS } from './output.ts';

/** `bench noise [CELL...]`: the noise of each cell, and the change that it lets one detect. */
export async function noise(names: readonly string[], options: NoiseOptions, io: Io): Promise<ExitCode> {
  const { branch, metric } = options;
  if (metric !== undefined && isMetric(metric) && isOfBuild(metric)) {
    throw new UsageError(
      `--metric ${metricWord(metric)}: a build has one ${metricOf(metric).label}, however often its engine runs`,
    );
  }
  return withStore(options, io, async ({ db }) => {
    const { note, sweeps } = await resolveSide(db, 'latest', io, { branch });
    const [newest] = sweeps;
    if (newest === undefined) throw new UsageError('no sweep is finished');
    const all = seriesOf(db, newest, options.last).toReversed();
    const ids = all.map(({ sweepId }) => sweepId);
    const known = inLabelOrder([...findCells(db, [...cellKeysOf(db, ids)]).values()]);
    const cells = chooseCells(db, namedCells(known, names), options.filter);
    if (cells.length === 0) throw new UsageError('no cell of these sweeps passes; see `bench ls cells`');
    const requested = metricNamed(db, metric);
    const { runsOf, sweepIds } = sweepRuns(db, cells, ids, requested);
    const noisy = cells.map((cell) => noisyCell(cell, gateMetric(requested, cell), runsOf(cell), cells.length));
    const first = all.find(({ sweepId }) => sweepId === sweepIds[0]) ?? newest;
    const copies = ids.length - sweepIds.length;
    const isSweepNoiseKnown = noisy.some(({ sweepPercent }) => sweepPercent !== null);
    const output: NoiseOutput = {
      schemaVersion: 3,
      sweepId: newest.sweepId,
      firstSweepId: first.sweepId,
      branch: newest.branch,
      matrix: newest.matrix,
      provenance: newest.provenance,
      sweeps: sweepIds.length,
      cells: noisy,
      notes: [
        ...(copies === 0 ? [] : [`${count(copies, 'sweep')} with the same recorded runs as an earlier one left out`]),
        ...(isSweepNoiseKnown
          ? []
          : [
              `sweep-to-sweep noise needs at least ${HISTORY.leastNights} sweeps: until then what is visible is by the runs alone`,
            ]),
      ],
    };
    return printResult(io, options, output, (_, look) => {
      const { columns, style } = look;
      const dim = (text: string): string[] => wrapWords(text, columns).map(style.dim);
      return [
        ...wrapWords(headline(noisy), columns).map(style.strong),
        ...wrapWords(aboutLine(output, newest, first), columns),
        ...(note === null ? [] : dim(note)),
        ...noiseTable(withCells(noisy, new Map(cells.map((cell) => [cell.key, cell]))), look),
        ...(output.notes.length === 0 ? [] : ['']),
        ...output.notes.flatMap(dim),
      ];
    });
  });
}

type NoisyRow = NoisyCell & { readonly cell: KeyedCell };

/** The noise of a cell in the newest sweeps of a series. */
export function noiseOfCell(db: StoreDatabase, cell: KeyedCell, metric: MetricId, series: Sweep): KnownNoise {
  const ids = seriesOf(db, series, NEWEST_SWEEPS).map(({ sweepId }) => sweepId);
  return noiseOfSweeps(sweepRuns(db, [cell], ids.toReversed(), metric).runsOf(cell));
}

function sweepRuns(db: StoreDatabase, cells: readonly KeyedCell[], ids: readonly string[], metric: MetricId | null) {
  const paths = new Map(loadedEngines(db, ids).map(({ runId, path }) => [runId, path]));
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, ids, keys).map((run) => {
    const enginePath = paths.get(run.runId);
    return enginePath === undefined ? run : { ...run, enginePath };
  });
  const sweepIds = withoutCopies(ids, runs);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const runsOf = (cell: KeyedCell): SweepRuns[] =>
    sweepRunsOf(cell, metric, sweepIds, byCell.get(cell.key) ?? [], environments);
  return { runsOf, sweepIds };
}

/** Runs per sweep in the headline. */
const TYPICAL_RUNS = 3;
const SHOWN_CELLS = 24;

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

function aboutLine({ branch, cells, matrix, provenance, sweeps }: NoiseOutput, newest: Sweep, first: Sweep): string {
  const [from = '', to = ''] = [first, newest].map(({ startedAt }) => startedAt?.slice(0, 10));
  return dotted([
    printable(matrix ?? newest.name ?? ''),
    printable(branch ?? ''),
    provenance,
    count(cells.length, 'cell'),
    count(sweeps, 'sweep'),
    from === to ? from : `${from} to ${to}`,
  ]);
}

/** Sort key: the detectable change with three runs, else the sweep-to-sweep noise. */
function weightOf(cell: NoisyCell): number {
  return visibleWith(cell, TYPICAL_RUNS) ?? (cell.sweepPercent === null ? -1 : cell.sweepPercent / 1e6);
}

/** Noisiest first, without cells of unknown noise. */
function noiseTable(cells: readonly NoisyRow[], look: Look): string[] {
  const right = 'right' as const;
  const known = cells.filter((cell) => weightOf(cell) >= 0).toSorted((a, b) => weightOf(b) - weightOf(a));
  if (known.length === 0) return [];
  const table = cellTable<NoisyRow>(
    known.slice(0, SHOWN_CELLS),
    [
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 5 },
      { header: 'run ±', text: (row) => percentText(row.runPercent), align: right, dropRank: 2 },
      { header: 'sweep ±', text: (row) => percentText(row.sweepPercent), align: right, dropRank: 2 },
      ...SHOWN_RUNS.map((runs) => ({
        header: count(runs, 'run'),
        text: (row: NoisyRow) => percentText(visibleWith(row, runs)),
        align: right,
        ...(runs === TYPICAL_RUNS ? {} : { dropRank: 4 }),
      })),
    ],
    look,
  );
  const more = known.length - SHOWN_CELLS;
  const meaning = 'run ±, sweep ±: standard deviations; with N runs: the change that is visible';
  const notes = [meaning, ...(more > 0 ? [`and ${more} quieter: --json has all`] : [])];
  return ['', ...table, ...notes.flatMap((text) => wrapWords(text, look.columns)).map(look.style.dim)];
}

function percentText(percent: number | null): string {
  return percent === null ? '–' : `${formatNumber(percent, 2)} %`;
}
