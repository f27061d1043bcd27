import { batchOf } from '../../records/cell.ts';
import { METRIC_IDS, metricDefinition, type MetricId, metricOf } from '../../records/metric.ts';
import { withoutControls } from '../../text/printable.ts';
import {
  environmentOf,
  harnessMetrics,
  measuredRuns,
  type ReportedCell,
  type ReportedSweep,
  rounded,
  valueOf,
} from './reported-sweep.ts';

interface Family {
  readonly name: string;
  /** A base unit of the specification, which ends the name; null for others. */
  readonly unit: string | null;
  readonly help: string;
  readonly metric: MetricId;
  readonly scale: number;
}

/** Base units of the specification; other units keep name and value. */
const BASE_UNITS: Readonly<Record<string, { readonly unit: string; readonly scale: number }>> = {
  s: { unit: 'seconds', scale: 1 },
  ms: { unit: 'seconds', scale: 1e-3 },
  MiB: { unit: 'bytes', scale: 1024 ** 2 },
  '%': { unit: 'ratio', scale: 0.01 },
};

/** Times first. */
const FAMILIES = METRIC_IDS.flatMap((metric): Family[] => {
  const { openMetrics, unit: own } = metricDefinition(metric);
  if (openMetrics === undefined) return [];
  const { unit = null, scale = 1 } = BASE_UNITS[own] ?? {};
  const name = ['trtbench', openMetrics.name, unit].filter((part) => part !== null).join('_');
  return [{ name, unit, help: openMetrics.help, metric, scale }];
}).toSorted((a, b) => Number(b.unit === 'seconds') - Number(a.unit === 'seconds'));

/**
 * OpenMetrics 1.0 text (prometheus.io/docs/specs/om/open_metrics_spec): medians over the runs of a cell. No time
 * stamps, which node_exporter's textfile collector and the push gateway refuse: the time is a value of its own.
 */
export function openMetricsText(report: ReportedSweep): string {
  const { cells, sweeps } = report;
  const [sweep] = sweeps;
  const lines: string[] = [];
  for (const { help, metric, name, scale, unit } of FAMILIES) {
    const samples = cells.flatMap((cell) => {
      const value = valueOf(cell, metric);
      return value === null ? [] : [`${name}${labels(labelsOf(cell, report))} ${rounded(value * scale)}`];
    });
    if (samples.length > 0) lines.push(...head(name, 'gauge', help, unit), ...samples);
  }
  lines.push(...harnessLines(report));
  const name = 'trtbench_runs';
  lines.push(...head(name, 'gauge', 'Timed runs of a cell by how they turned out', null));
  for (const cell of cells) {
    const measured = measuredRuns(cell).length;
    const about = labelsOf(cell, report);
    lines.push(
      `${name}${labels({ ...about, outcome: 'measured' })} ${measured}`,
      `${name}${labels({ ...about, outcome: 'other' })} ${cell.runs.length - measured}`,
    );
  }
  if (sweep.startedAt !== null) {
    const start = 'trtbench_sweep_start_time_seconds';
    lines.push(
      ...head(start, 'gauge', 'When the sweep began, since the epoch', 'seconds'),
      `${start}${labels({ matrix: sweep.matrix ?? '' })} ${Date.parse(sweep.startedAt) / 1000}`,
    );
  }
  const info = {
    sweep: sweep.sweepId,
    matrix: sweep.matrix ?? '',
    commit: sweep.commit ?? '',
    branch: sweep.branch ?? '',
    tensorrt: sweep.tensorrt ?? '',
    provenance: sweep.provenance,
  };
  lines.push(
    ...head('trtbench_sweep', 'info', 'What was measured', null),
    `trtbench_sweep_info${labels(info)} 1`,
    '# EOF',
    '',
  );
  return lines.join('\n');
}

/** What other harnesses measured, each in its own unit: one family, distinguished by labels. */
function harnessLines(report: ReportedSweep): string[] {
  const name = 'trtbench_harness_value';
  const samples = report.cells.flatMap((cell) =>
    harnessMetrics([cell]).flatMap((metric) => {
      const value = valueOf(cell, metric);
      const { betterIs, label, unit } = metricOf(metric);
      const about = { ...labelsOf(cell, report), metric: label, unit, better_is: betterIs };
      return value === null ? [] : [`${name}${labels(about)} ${rounded(value)}`];
    }),
  );
  if (samples.length === 0) return [];
  return [...head(name, 'gauge', 'A number of another harness than trtexec', null), ...samples];
}

function head(name: string, type: string, help: string, unit: string | null): string[] {
  const lines = [`# TYPE ${name} ${type}`];
  if (unit !== null) lines.push(`# UNIT ${name} ${unit}`);
  return [...lines, `# HELP ${name} ${help}`];
}

/** Constant from sweep to sweep: a commit as a label would start a new series each time. */
function labelsOf(cell: ReportedCell, { environments, sweeps }: ReportedSweep) {
  const { cell: about } = cell;
  return {
    cell: cell.name,
    key: about.key.slice(0, 8),
    model: about.model,
    precision: about.precision,
    batch: String(batchOf(about.shapes) ?? ''),
    cuda_graph: String(about.cudaGraph ?? ''),
    streams: String(about.streams),
    matrix: sweeps[0].matrix ?? '',
    provenance: sweeps[0].provenance,
    gpu: environmentOf(cell, environments)?.gpuName ?? '',
  };
}

function labels(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}="${escaped(value)}"`);
  return `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return withoutControls(text)
    .toWellFormed()
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\ufffd');
}
