import { boundOfRead } from '../judge/bound.ts';
import type { HarnessReading } from '../records/harness.ts';
import { metricOf } from '../records/metric.ts';
import type { ParsedRun } from '../trtexec/log/derived.ts';
import { formatTensorrtVersion } from '../text/version.ts';
import { adviceOf, boundLines, flagLines, outcomeText } from './words.ts';
import { type Look, dotted, truncate, wrapHanging } from './look.ts';
import { count, formatMs, formatNumber, formatPercent, formatShare } from './numbers.ts';
import { type JoinedLayer, layersOf, overheadOf, type ProfiledEngine, profileOf } from '../layers/profiled-engine.ts';
import { printable } from '../text/printable.ts';
import { telemetryLines } from './machine-text.ts';
import { statisticsTable } from './statistics-table.ts';
import { renderTable, numberColumn } from './table.ts';
import type { Outcome } from '../records/outcome.ts';

const MAX_EVIDENCE_LINES = 5;

export function runText(run: ParsedRun, look: Look): string[] {
  const { log, derived, outcome } = run;
  const { style } = look;
  const cut = (text: string): string => truncate(text, look.columns);
  const version = log.tensorrtVersion === null ? null : `TensorRT ${formatTensorrtVersion(log.tensorrtVersion)}`;
  const head = dotted([version, printable(log.device.name ?? '')]);
  const lines = [style.strong(cut(printable(run.path)))];
  if (head !== '') lines.push(cut(`  ${head}`));
  lines.push(`  ${outcomeText(outcome, style)}`);
  lines.push(...evidenceLines(outcome.evidence.slice(0, MAX_EVIDENCE_LINES), look));
  lines.push(...numbers(run, look), ...layersTable(layersOf(run) ?? [], look, profileOf(run)?.total));
  lines.push(...overheadLine(run).map(cut));
  const { createdEngineMib: size, deserializedS, engineBuiltS } = log.build;
  const sizeText = size === null ? '' : `, ${formatNumber(size)} MiB`;
  if (engineBuiltS !== null) lines.push(cut(`  engine built in ${formatNumber(engineBuiltS)} s${sizeText}`));
  if (deserializedS !== null) lines.push(cut(`  engine loaded in ${formatNumber(deserializedS)} s`));
  if (derived.enqueueRatio !== null) {
    const busy = derived.gpuBusy === null ? '' : ` · GPU busy ${formatShare(derived.gpuBusy)}`;
    const cv = derived.cvPercent === null ? '' : ` · CV ${formatPercent(derived.cvPercent, false)}`;
    lines.push(cut(`  enqueue/GPU ${formatNumber(derived.enqueueRatio, 2)} (${derived.enqueueClass})${busy}${cv}`));
  }
  if (run.telemetry !== null) lines.push(...telemetryLines(run.telemetry, look));
  const isMeasured = log.measurement !== null || run.harness !== null;
  const bound = boundOfRead(run);
  if (isMeasured) lines.push(...boundLines(bound, run.flags, look));
  lines.push(...run.flags.flatMap((flag) => flagLines(flag, look, adviceOf(flag, bound))));
  for (const hint of log.hints) lines.push(style.warn(cut(`  ${hint.id}: ${printable(hint.text)}`)));
  for (const note of run.notes) lines.push(style.dim(cut(`  note: ${printable(note)}`)));
  return lines;
}

function numbers({ log, derived, harness }: ParsedRun, look: Look): string[] {
  const { options } = log;
  if (harness !== null) return harnessLines(harness, look);
  const statistics = log.measurement ?? log.excerpt;
  if (statistics === null) return [];
  const { throughputQps } = statistics;
  const { itemsPerS, queries } = derived;
  const computed = new Set(Object.keys(log.derived));
  // In an excerpt, it is unknown what trtexec counted: queries, images, or nothing.
  const rateUnit = log.measurement === null ? 'qps' : 'queries/s';
  const shown = { throughputQps, itemsPerS, queries, streams: options.streams ?? 1, statistics, computed, rateUnit };
  return statisticsTable(shown, look);
}

function harnessLines({ method, latencyMs, values }: HarnessReading, look: Look): string[] {
  const { harness, harnessVersion, timer, timedRuns } = method;
  const how = dotted([
    `by ${printable([harness, harnessVersion ?? ''].join(' ').trim())}`,
    `timer ${timer}`,
    timedRuns === null ? null : count(timedRuns, 'timed run'),
  ]);
  const latency = { throughputQps: null, itemsPerS: null, queries: null, streams: 1 };
  return [
    truncate(`  ${how}`, look.columns),
    ...(latencyMs === null ? [] : statisticsTable({ ...latency, statistics: { latencyMs } }, look)),
    ...values.map(({ metric, value }) => {
      const { label, unit } = metricOf(metric);
      return truncate(`  ${printable(`${label} ${formatNumber(value)} ${unit}`)}`, look.columns);
    }),
  ];
}

/**
 * The sum of the layers compared with the query, for a run with both. It is larger, because the profiler waits after
 * each layer.
 */
function overheadLine(run: ParsedRun): string[] {
  const gpuComputeMs = run.log.measurement?.gpuComputeMs.median ?? null;
  const layers = layersOf(run) ?? [];
  const { medianMs, overheadPercent } = overheadOf({ layers, total: profileOf(run)?.total, gpuComputeMs });
  if (overheadPercent === null) return [];
  return [
    `  medians: sum of layers ${formatMs(medianMs)}, GPU compute time ${formatMs(gpuComputeMs)}: ${formatPercent(overheadPercent)} (not for gating)`,
  ];
}

const SHOWN_LAYERS = 8;

/** @param total time of all layers, if not all of them are listed */
export function layersTable(layers: readonly JoinedLayer[], look: Look, total?: ProfiledEngine['total']): string[] {
  const timed = layers.filter(({ averageMs }) => averageMs !== null);
  if (timed.length === 0) return [];
  const longestFirst = timed.toSorted((a, b) => (b.averageMs ?? 0) - (a.averageMs ?? 0));
  const totalMs = total?.averageMs ?? sumMs(timed);
  const rest = longestFirst.slice(SHOWN_LAYERS);
  const rows = longestFirst
    .slice(0, SHOWN_LAYERS)
    .map(({ averageMs, name, percentage: percent, type }) => ({ name, type: type ?? '', ms: averageMs ?? 0, percent }));
  if (rest.length > 0) rows.push({ name: `${rest.length} more`, type: '', ms: sumMs(rest), percent: null });
  if (total !== undefined)
    rows.push({ name: 'all, of which the log lists these', type: '', ms: total.averageMs, percent: 100 });
  return renderTable<(typeof rows)[number]>(
    [
      numberColumn('mean', ({ ms }) => formatMs(ms)),
      numberColumn('share', ({ ms, percent }) => formatPercent(percent ?? (ms / totalMs) * 100, false)),
      { header: 'type', text: ({ type }) => printable(type), dropRank: 1 },
      { header: `layer (of ${timed.length})`, text: ({ name }) => printable(name), minWidth: 12 },
    ],
    rows,
    { ...look, columns: look.columns - 2 },
  ).map((line) => `  ${line}`);
}

function sumMs(layers: readonly JoinedLayer[]): number {
  return layers.reduce((sum, { averageMs }) => sum + (averageMs ?? 0), 0);
}

const LONGEST_EVIDENCE_LINES = 4;

/** A line of a log may be a megabyte long. */
const LONGEST_EVIDENCE = 1000;

/** Lines of evidence. The first one, which gives the reason, is wrapped; the others are truncated. */
export function evidenceLines(evidence: Outcome['evidence'], { columns }: Look): string[] {
  return evidence.flatMap(({ line, text }, index) => {
    const shown = `    ${line > 0 ? `line ${line}: ` : ''}${printable(text.slice(0, LONGEST_EVIDENCE))}`;
    if (index > 0) return [truncate(shown, columns)];
    return wrapHanging(shown, columns, 6).slice(0, LONGEST_EVIDENCE_LINES);
  });
}
