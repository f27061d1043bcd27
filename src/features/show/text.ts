import { itemsPerS } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { HarnessValue, Method } from '../../records/harness.ts';
import { methodWords } from '../../judge/method.ts';
import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { ShownRun as StoredRun } from '../../store/runs/show-run.ts';
import type { ShownRun } from './output.ts';
import type { JoinedLayer } from '../../layers/profiled-engine.ts';
import { adviceOf, boundLines, evidenceLines, flagLines, outcomeText } from '../../terminal/words.ts';
import type { Look } from '../../terminal/look.ts';
import { layersTable } from '../../terminal/run-text.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { formatBytes, formatDuration, formatNumber } from '../../terminal/numbers.ts';
import type { RunQueries } from '../../selection/query-times.ts';
import { histogramChart } from '../../terminal/charts/histogram-chart.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { statisticsOf, statisticsTable } from '../../terminal/statistics-table.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { steadinessLines } from './steadiness.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';

export type DescribedRun = ShownRun & StoredRun & { readonly layers: readonly JoinedLayer[] | null };

export function shownRunText(run: DescribedRun, look: Look, queries: RunQueries | null): string[] {
  const { style, columns } = look;
  const { build, cell } = run;
  const what = cell === null ? build : cellLabel(cell);
  const title = what === null ? run.role : run.role === 'build' ? `${what} (build)` : what;
  const lines = [
    style.strong(truncate(`${printable(title)} · run ${run.runId.slice(0, 8)} #${run.repeat}`, columns)),
    `  ${outcomeText(run.outcome, style)}`,
    ...evidenceLines(run.outcome.evidence, look),
    ...(run.outcome.kind === 'measured' && run.role === 'timed' ? boundLines(run.bound, run.flags, look) : []),
    ...run.flags.flatMap((flag) => flagLines(flag, look, adviceOf(flag, run.bound))),
    ...field('sweep', run.sweepId.slice(0, 8), look),
    ...field('role', `${run.role}, ${run.provenance}`, look),
    ...field(
      'started',
      run.startedAt === null
        ? ''
        : `${run.startedAt}${run.wallS === null ? '' : `, took ${formatDuration(run.wallS)}`}`,
      look,
    ),
    ...field('ended', run.signal ?? (run.exitCode === null ? '' : `exit code ${run.exitCode}`), look),
    ...machineLines(run.environment, run.telemetry, look),
    ...field('method', methodText(run.method), look),
    ...numberLines(run, look),
    ...queryLines(queries, look),
    ...steadinessLines(run.steadiness, look),
    ...valueLines(run.values, look),
    ...layersTable(run.layers ?? [], look),
    ...field('hints', run.hints.join(', '), look),
    ...run.notes.flatMap((note) => field('note', note, look)),
    ...attemptLines(run.attempts).flatMap((text) => field('start', text, look)),
    ...field('files', run.artefacts.map(({ name, bytes }) => `${name} (${formatBytes(bytes)})`).join(', '), look),
    // Never truncate the path, so that it can be copied.
    run.artefactFolder === null ? '' : `  kept in  artefacts/${run.artefactFolder}`,
    ...run.attachments.flatMap((attachment) => field('attached', attachedText(attachment), look)),
    ...(run.attachments.some(({ prunedAt }) => prunedAt === null)
      ? [`           in artefacts/${run.sweepId}/${run.runId}.attached`]
      : []),
  ];
  const nonEmpty = lines.filter((line) => line !== '');
  return run.argv === null ? nonEmpty : [...nonEmpty, '', shellLine(run.argv)];
}

function attachedText({ name, bytes, sha256, attachedAt, prunedAt }: ShownRun['attachments'][number]): string {
  const gone = prunedAt === null ? '' : `, pruned ${prunedAt.slice(0, 10)}`;
  return `${name} (${formatBytes(bytes)}, ${attachedAt.slice(0, 10)}, sha256 ${sha256.slice(0, 12)})${gone}`;
}

const FIELD_INDENT = 11;

/** Several attempts, each with its outcome. A single attempt is the run itself. */
function attemptLines(attempts: ShownRun['attempts']): string[] {
  if (attempts.length < 2) return [];
  return attempts.map(({ attempt, startedAt, outcome, reason, evidence }) => {
    const became = outcome === null ? 'cut off' : [outcome, reason].filter(Boolean).join(' ');
    return `${attempt}: ${startedAt} ${became}${evidence === null ? '' : `: ${evidence}`}`;
  });
}

function field(name: string, text: string, { columns }: Look): string[] {
  if (text === '') return [];
  return wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, FIELD_INDENT);
}

function methodText(method: Method | null): string {
  if (method === null) return '';
  const { harness = '', ...facts } = methodWords(method);
  const factTexts = Object.entries(facts).map(([name, text]) => (name === 'timer' ? text : `${name} ${text}`));
  return [harness, ...factTexts].join(', ');
}

function valueLines(values: readonly HarnessValue[], look: Look): string[] {
  if (values.length === 0) return [];
  return renderTable<HarnessValue>(
    [
      { header: 'metric', text: ({ metric }) => metricOf(metric).label },
      numberColumn('value', ({ value }) => formatNumber(value)),
      { header: 'unit', text: ({ metric }) => metricOf(metric).unit },
      { header: 'better is', text: ({ metric }) => metricOf(metric).betterIs, dropRank: 1 },
    ],
    values,
    look,
  );
}

function queryLines(queries: RunQueries | null, look: Look): string[] {
  if (queries === null) return [];
  return [`  ${metricOf(queries.metric).label} of each query`, ...histogramChart([{ name: 'run', ...queries }], look)];
}

function numberLines({ cell, measurement, statistics }: DescribedRun, look: Look): string[] {
  if (Object.keys(statistics).length === 0) return [];
  const throughputQps = measurement?.['throughputQps'] ?? null;
  return statisticsTable(
    {
      throughputQps,
      itemsPerS: cell === null ? null : itemsPerS(cell.shapes, throughputQps),
      queries: measurement?.['queries'] ?? null,
      streams: cell?.streams ?? 1,
      statistics: statisticsOf(statistics),
    },
    look,
  );
}
