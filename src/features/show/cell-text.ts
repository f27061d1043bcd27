import { isDeepStrictEqual } from 'node:util';

import { boundOf } from '../../judge/bound.ts';
import { valuesOf } from '../../judge/value-rule.ts';
import { diffLayers } from '../../layers/diff-layers.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import { median } from '../../statistics/order-statistics.ts';
import { momentsOf } from '../../statistics/special-functions.ts';
import { metricOf } from '../../records/metric.ts';
import { isFine, outcomeReason, FLAG_LABELS, ineligibleFlags } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import { runsOfCell } from '../../store/runs/show-run.ts';
import { failureOf, failureSection } from '../../terminal/failure-section.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { boundLines } from '../../terminal/words.ts';
import { cellRunsOf, newestRunsOf } from '../../store/runs/cell-runs.ts';
import { layerRunsOfEngine } from '../../store/runs/layer-runs.ts';
import { profiledLayers } from '../../selection/profiled-engine.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { isColdStart } from '../../records/harness.ts';
import { remediedBound } from '../sweep/index.ts';
import type { ShownCell } from './output.ts';

type CellReport = ReturnType<typeof cellReport>;
type ListedRun = CellReport['runs'][number];

const LISTED_RUNS = 50;

/** A cell with its newest runs, newest first. */
export function cellReport(db: StoreDatabase, cell: KeyedCell, cells: readonly KeyedCell[]) {
  const listed = runsOfCell(db, cell.key, LISTED_RUNS);
  const sweepIds = [...new Set(listed.map(({ sweepId }) => sweepId))];
  const runs = new Map(cellRunsOf(db, sweepIds, [cell.key]).map((run) => [run.runId, run]));
  const measured = eligible([...runs.values()].filter(isMeasured), ({ flags }) => ineligibleFlags(flags));
  const newest = measured.at(-1);
  const ofNewest = measured.filter((run) => run.sweepId === newest?.sweepId);
  const [environment] = findEnvironments(db, newest === undefined ? [] : [newest.environmentId]).values();
  const bound = newest === undefined ? null : boundOf(cell, ofNewest, environment);
  return {
    schemaVersion: 1 as const,
    cell,
    bound: newest === undefined ? null : remediedBound(db, newest.sweepId, cell, bound),
    runs: listed.map((run) => {
      const { flags = [], outcome = run.outcome, values } = runs.get(run.runId) ?? {};
      const { gpuComputeMs = null, throughputQps = null } = values ?? {};
      const value = cell.harness === undefined ? null : (values?.[cell.harness.metric] ?? null);
      const ineligible = ineligibleFlags(flags).map(({ id }) => id);
      return { ...run, outcome, ineligible, gpuComputeMs, throughputQps, value };
    }),
    differingBuilds: differingBuildsOf(db, ofNewest),
    latencyGaps: latencyGapsOf(db, cell, cells),
  };
}

/** Builds of one sweep whose layers differ from those of the first one: other tactics by the luck of a build. */
function differingBuildsOf(db: StoreDatabase, runs: readonly CellRun[]): string[] {
  const builds = [...Map.groupBy(runs, ({ buildId }) => buildId ?? '')];
  const [first, ...others] = (builds.length < 2 ? [] : builds).map(([id, own]) => {
    const [listed] = layerRunsOfEngine(db, [id]);
    const layers = layerFactsOf((listed && profiledLayers(db, listed)?.layers) ?? []);
    return { layers, ms: median(valuesOf(own, 'gpuComputeMs')) ?? 0 };
  });
  return others.flatMap(({ layers, ms }, place) => {
    if (!first?.layers.length || layers.length === 0) return [];
    const { parts } = diffLayers(first.layers, layers);
    const { length } = parts.filter(({ change }) => !['same', 'unknown', 'otherHash'].includes(change));
    const what = `build ${place + 2} of ${builds.length} differs from the first in ${count(length, 'layer')}`;
    return length === 0 ? [] : [`${what}: ${formatMs(ms)} against ${formatMs(first.ms)}`];
  });
}

export function cellText({ bound, cell, differingBuilds, latencyGaps, runs }: CellReport, look: Look): string[] {
  const driven = metricOf(cell.harness?.metric ?? 'gpuComputeMs');
  const label = cellLabel(cell);
  const failed = runs.filter(({ outcome }) => !isFine(outcome)).map((run) => failureOf({ ...run, label }));
  return [
    ...wrapHanging(`${printable(label)} · cell ${cell.key.slice(0, 8)}`, look.columns, 2).map(look.style.strong),
    ...(runs.length === 0 ? ['  no runs: `bench show SWEEP` lists failed builds'] : []),
    ...newestLines(cell, runs, look),
    ...differingBuilds.flatMap((line) => wrapHanging(`  ${line}`, look.columns, 4)),
    ...(bound === null ? [] : boundLines(bound, [], look)),
    ...renderTable<ListedRun>(
      [
        { header: 'run', text: ({ runId }) => runId.slice(0, 8) },
        { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
        { header: 'started', text: ({ startedAt }) => (startedAt ?? '').slice(0, 16).replace('T', ' '), dropRank: 3 },
        { header: 'role', text: ({ role }) => role, dropRank: 1 },
        numberColumn('#', ({ repeat }) => String(repeat), 2),
        numberColumn(driven.label, ({ value }) => (value === null ? '' : `${formatNumber(value)} ${driven.unit}`)),
        numberColumn('GPU median', ({ gpuComputeMs }) => (gpuComputeMs === null ? '' : formatMs(gpuComputeMs))),
        numberColumn('qps', ({ throughputQps }) => (throughputQps === null ? '' : formatNumber(throughputQps)), 1),
        { header: 'outcome', text: outcomeText },
      ],
      runs,
      look,
    ),
    ...failureSection(failed, look),
    ...latencyGapLines(latencyGaps, look),
  ];
}

function outcomeText({ ineligible, outcome }: ListedRun): string {
  return [outcome.kind, outcomeReason(outcome), ...ineligible.map((id) => FLAG_LABELS[id])].filter(Boolean).join(' ');
}

/** All runs if none is eligible. */
function eligible<Run>(runs: readonly Run[], flagsOf: (run: Run) => readonly unknown[]): readonly Run[] {
  const found = runs.filter((run) => flagsOf(run).length === 0);
  return found.length > 0 ? found : runs;
}

const NAME_WIDTH = 10;

/** Median, spread and range of the timed runs of the newest sweep. */
function newestLines({ harness }: KeyedCell, runs: readonly ListedRun[], look: Look): string[] {
  const timed = eligible(runs.filter(isMeasured), ({ ineligible }) => ineligible);
  const newest = timed.filter(({ sweepId }) => sweepId === timed[0]?.sweepId);
  const own = metricOf(harness?.metric ?? 'gpuComputeMs');
  const rows = [
    [own.label, own.unit, newest.map(({ value }) => value)],
    ['GPU median', 'ms', newest.map(({ gpuComputeMs }) => gpuComputeMs)],
    ['throughput', 'queries/s', newest.map(({ throughputQps }) => throughputQps)],
  ] as const;
  return rows.flatMap(([name, unit, all]) => {
    const values = all.filter((value) => value !== null);
    const middle = median(values);
    if (middle === null) return [];
    const number = formatNumber(middle);
    const range = `range ${formatNumber(Math.min(...values))} … ${formatNumber(Math.max(...values))}, `;
    const text = `${number} ${unit} ${deviationText(values, middle, number)}`.trim();
    const line = `  ${name.padEnd(NAME_WIDTH)} ${text}, ${values.length > 1 ? range : ''}${count(values.length, 'run')}`;
    return wrapHanging(line, look.columns, NAME_WIDTH + 3);
  });
}

/** Standard deviation `± 0.0007 (0.15 %)`, with as many decimals as the median; empty for a single run. */
function deviationText(values: readonly number[], middle: number, formatted: string): string {
  if (values.length < 2) return '';
  const deviation = Math.sqrt(momentsOf(values).squares / (values.length - 1));
  const decimals = (/\.(\d+)/.exec(formatted)?.[1] ?? '').length;
  const share = middle === 0 ? '' : ` (${((deviation / middle) * 100).toFixed(2)} %)`;
  return `± ${deviation.toFixed(decimals)}${share}`;
}

/** Latencies of trtexec and of other harnesses for the same model, precision and shapes. */
function latencyGapsOf(db: StoreDatabase, cell: KeyedCell, all: readonly KeyedCell[]): ShownCell['latencyGaps'] {
  const { model, precision, shapes } = cell;
  const same = all
    .filter((other) => !isColdStart(other) && other.model === model && other.precision === precision)
    .filter((other) => isDeepStrictEqual(other.shapes, shapes));
  const keys = same.map(({ key }) => key);
  const newest = newestRunsOf(db, keys);
  const timed = same.flatMap((one) => {
    const { betterIs, id: metric, unit } = metricOf(one.harness?.metric ?? 'latencyMs');
    const runs = (newest.get(one.key) ?? []).filter(isMeasured);
    const ms = median(runs.flatMap(({ values }) => values[metric] ?? []));
    return ms === null || unit !== 'ms' || betterIs !== 'lower' ? [] : [{ cell: one, metric, ms }];
  });
  const own = timed.find((one) => one.cell.key === cell.key);
  if (own === undefined) return [];
  const isDriven = cell.harness !== undefined;
  const others = timed.filter((one) => (one.cell.harness !== undefined) !== isDriven);
  return others.map((other) => {
    const [trtexec, application] = isDriven ? [other, own] : [own, other];
    const measured = { trtexecKey: trtexec.cell.key, trtexecMs: trtexec.ms };
    const hasTransfers = trtexec.cell.dataTransfers ?? false;
    const { cell: driven, metric, ms: applicationMs } = application;
    const gap = { applicationKey: driven.key, metric, applicationMs, gapMs: applicationMs - trtexec.ms };
    return { ...measured, hasTransfers, ...gap, otherLabel: cellLabel(other.cell) };
  });
}

function latencyGapLines(gaps: ShownCell['latencyGaps'], { columns, style }: Look): string[] {
  return gaps.flatMap((gap) => {
    const { applicationMs, gapMs } = gap;
    const copies = gap.hasTransfers ? '' : ' without copies';
    const times = `${printable(metricOf(gap.metric).label)} ${formatMs(applicationMs)}, latency of trtexec ${formatMs(gap.trtexecMs)}${copies}`;
    const said =
      gapMs < 0
        ? `${formatMs(-gapMs)} less than trtexec: not the same work, or another clock`
        : `${formatMs(gapMs)} (${formatPercent((gapMs / applicationMs) * 100, false)}) outside of what trtexec measures`;
    return wrapHanging(`${times}: ${said} (${printable(gap.otherLabel)})`, columns, 2).map(style.dim);
  });
}
