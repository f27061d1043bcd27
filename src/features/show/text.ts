import { type KnownNoise, LEAST_PERCENT, runsThatShow } from '../../judge/run-noise.ts';
import { methodWords } from '../../judge/method.ts';
import type { JoinedLayer } from '../../layers/profiled-engine.ts';
import { type KeyedCell, itemsPerS, cellLabel } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { RunQueries, ShownRun as StoredRun } from '../../store/runs/show-run.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { histogramChart } from '../../terminal/charts/histogram-chart.ts';
import { type Look, truncate, wrapHanging } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { count, formatBytes, formatDuration, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { layersTable, evidenceLines } from '../../terminal/run-text.ts';
import { statisticsTable } from '../../terminal/statistics-table.ts';
import { adviceOf, boundLines, flagLines, outcomeText } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { driftOf } from '../../trtexec/fitness/find-flags.ts';
import { noiseOfCell } from '../noise/index.ts';
import type { ShownRun } from './output.ts';

export type DescribedRun = ShownRun & StoredRun & { readonly layers: readonly JoinedLayer[] | null };

export function shownRunText(run: DescribedRun, look: Look, queries: RunQueries | null): string[] {
  const { columns, style } = look;
  const { argv, artefactFolder, attachments, bound, build, cell, method, outcome, role, startedAt, wallS } = run;
  const what = cell === null ? build : cellLabel(cell);
  const title = what === null ? role : role === 'build' ? `${what} (build)` : what;
  const field = (name: string, text: string): string[] =>
    text === '' ? [] : wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, FIELD_INDENT);
  const took = wallS === null ? '' : `, took ${formatDuration(wallS)}`;
  const methods = Object.entries(method === null ? {} : methodWords(method)).map((words) => words.join(' '));
  const attempts = run.attempts.length < 2 ? [] : run.attempts;
  const isAttached = attachments.some(({ prunedAt }) => prunedAt === null);
  return [
    style.strong(truncate(`${printable(title)} · run ${run.runId.slice(0, 8)} #${run.repeat}`, columns)),
    `  ${outcomeText(outcome, style)}`,
    ...evidenceLines(outcome.evidence, look),
    ...(outcome.kind === 'measured' && role === 'timed' ? boundLines(bound, run.flags, look) : []),
    ...run.flags.flatMap((flag) => flagLines(flag, look, adviceOf(flag, bound))),
    ...field('sweep', run.sweepId.slice(0, 8)),
    ...field('role', `${role}, ${run.provenance}`),
    ...field('started', startedAt === null ? '' : `${startedAt}${took}`),
    ...field('ended', run.signal ?? (run.exitCode === null ? '' : `exit code ${run.exitCode}`)),
    ...machineLines(run.environment, run.telemetry, look),
    ...field('method', methods.join(', ')),
    ...numberLines(run, look),
    ...(queries === null
      ? []
      : [`  ${metricOf(queries.metric).label} of each query`, ...histogramChart([{ name: 'run', ...queries }], look)]),
    ...steadinessTexts(run.steadiness).flatMap(([name, text]) => field(name, text)),
    ...run.values.flatMap(({ metric, value }) => {
      const { betterIs, label, unit } = metricOf(metric);
      return field('value', `${label} ${formatNumber(value)} ${unit} (${betterIs} is better)`);
    }),
    ...layersTable(run.layers ?? [], look),
    ...field('hints', run.hints.join(', ')),
    ...run.notes.flatMap((note) => field('note', note)),
    ...attempts.flatMap(({ attempt, evidence, outcome: became, reason, startedAt: at }) => {
      const parts = [at, became ?? 'cut off', reason].filter((part) => part !== null).join(' ');
      return field('start', `${attempt}: ${parts}${evidence === null ? '' : `: ${evidence}`}`);
    }),
    ...field('files', run.artefacts.map(({ name, bytes }) => `${name} (${formatBytes(bytes)})`).join(', ')),
    ...field('pruned', run.prunedAt === null ? '' : `these files, on ${run.prunedAt.slice(0, 10)}`),
    // Paths are never truncated, so that they can be copied.
    ...(artefactFolder === null ? [] : [`  kept in  artefacts/${artefactFolder}`]),
    ...attachments.flatMap(({ name, bytes, sha256, attachedAt, prunedAt }) => {
      const gone = prunedAt === null ? '' : `, pruned ${prunedAt.slice(0, 10)}`;
      const facts = [formatBytes(bytes), attachedAt.slice(0, 10), `sha256 ${sha256.slice(0, 12)}`].join(', ');
      return field('attached', `${name} (${facts})${gone}`);
    }),
    ...(isAttached ? [`           in artefacts/${run.sweepId}/${run.runId}.attached`] : []),
    ...(argv === null ? [] : ['', shellLine(argv)]),
  ];
}

const FIELD_INDENT = 11;

function numberLines({ cell, measurement, statistics: stored }: DescribedRun, look: Look): string[] {
  if (Object.keys(stored).length === 0) return [];
  const { queries = null, throughputQps = null } = measurement ?? {};
  const itemsPerSecond = cell === null ? null : itemsPerS(cell.shapes, throughputQps);
  const numbers = { throughputQps, itemsPerS: itemsPerSecond, queries, streams: cell?.streams ?? 1 };
  return statisticsTable({ ...numbers, statistics: stored }, look);
}

const LEAST_QUERIES = 8;
/** Standard error of a median over that of a mean, for normal values. */
const MEDIAN_ERROR = Math.sqrt(Math.PI / 2);

/** How steady the queries of a run are, and the number of such runs that shows a change; null for too few queries. */
export function steadinessOf(
  db: StoreDatabase,
  sweepId: string,
  cell: KeyedCell | null,
  { metric, values }: RunQueries,
  showsPercent: number,
): ShownRun['steadiness'] {
  if (values.length < LEAST_QUERIES) return null;
  const { cv, lag1, effective } = serialStatistics(values);
  const [sweep] = sweepsById(db, [sweepId]);
  const known = cell === null || sweep === undefined ? null : noiseOfCell(db, cell, metric, sweep);
  const isKnown = known !== null && known.run !== null;
  // A lower bound: runs differ by more than the error of their medians.
  const least = { run: (MEDIAN_ERROR * cv) / Math.sqrt(effective), sweep: null, degrees: Math.max(1, effective - 1) };
  const noise: KnownNoise = isKnown ? known : least;
  return {
    metric,
    queries: values.length,
    cvPercent: cv * 100,
    driftPercent: driftOf(Float64Array.from(values)).change * 100,
    autocorrelation: lag1,
    effectiveQueries: effective,
    showsPercent,
    repeats: runsThatShow(noise, showsPercent),
    noiseFrom: isKnown ? 'runs' : 'queries',
    runPercent: percentOfLog(noise.run ?? 0),
    sweepPercent: noise.sweep === null ? null : percentOfLog(noise.sweep),
  };
}

function steadinessTexts(found: ShownRun['steadiness']): (readonly [name: string, text: string])[] {
  if (found === null) return [];
  const { noiseFrom, repeats, runPercent, showsPercent, sweepPercent } = found;
  const steady = `CV ${formatNumber(found.cvPercent)} %, drift ${formatPercent(found.driftPercent)} from the first to the last quarter, autocorrelation ${formatNumber(found.autocorrelation)}: ${count(found.queries, 'query', 'queries')} say as much as ${Math.round(found.effectiveQueries)} independent ones`;
  const least = noiseFrom === 'queries' ? 'at least ' : '';
  const counted = repeats === null ? 'no number of runs' : `${least}${count(repeats, 'run')} a side`;
  const runs = `${counted} ${repeats === null || repeats === 1 ? 'shows' : 'show'}`;
  const sweeps = sweepPercent === null ? '' : ` and ${formatNumber(sweepPercent, 2)} % of a sweep`;
  const why =
    showsPercent <= LEAST_PERCENT
      ? `as changes up to ${LEAST_PERCENT} % are never reported`
      : noiseFrom === 'runs'
        ? `by the noise of its cell, ${formatNumber(runPercent, 2)} % of a run${sweeps}`
        : 'from its queries alone: one run does not show the noise between runs';
  return [
    ['steady', steady],
    ['repeats', `${runs} ${showsPercent} %, ${why}`],
  ];
}

/** Largest lag with a computed correlation; a run has tens of thousands of queries. */
const MOST_LAG = 1000;

/**
 * @returns `cv`: standard deviation (population, as trtexec has it) over the mean; `lag1`: autocorrelation; `effective`: number of independent
 * values with the same information about the mean
 */
export function serialStatistics(values: readonly number[]) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const centred = Float64Array.from(values, (value) => value - mean);
  const squares = lagged(centred, 0);
  const correlation = (lag: number): number => (squares === 0 ? 0 : lagged(centred, lag) / squares);
  // Initial positive sequence: sums pairs of lags until a pair is noise (Geyer 1992).
  let sum = 0;
  for (let lag = 0; lag < Math.min(n - 1, MOST_LAG); lag += 2) {
    const pair = correlation(lag) + correlation(lag + 1);
    if (pair <= 0) break;
    sum += pair;
  }
  const effective = Math.min(n, n / Math.max(1, 2 * sum - 1));
  return { cv: Math.sqrt(squares / n) / mean, lag1: correlation(1), effective };
}

function lagged(centred: Float64Array, lag: number): number {
  return centred.subarray(lag).reduce((sum, value, place) => sum + value * (centred[place] ?? 0), 0);
}
