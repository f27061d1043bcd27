import { batchOf } from '../../records/cell.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
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
  /** A base unit of the specification, with which the name ends; null for others. */
  readonly unit: string | null;
  readonly help: string;
  readonly metric: MetricId;
  /** What a value is multiplied with. */
  readonly scale: number;
}

const MIB = 1024 ** 2;
const seconds = (name: string, help: string, metric: MetricId, scale = 1e-3): Family => ({
  name: `trtbench_${name}_seconds`,
  unit: 'seconds',
  help,
  metric,
  scale,
});

const FAMILIES: readonly Family[] = [
  seconds('gpu_compute', 'Median GPU compute time of a query', 'gpuComputeMs'),
  seconds('latency', 'Median latency of a query', 'latencyMs'),
  seconds('latency_p99', '99th percentile of the latency', 'p99Ms'),
  seconds('enqueue', 'Median time to enqueue a query', 'enqueueMs'),
  seconds('build', 'Time to build the engine', 'buildS', 1),
  {
    name: 'trtbench_throughput_queries_per_second',
    unit: null,
    help: 'Queries a second',
    metric: 'throughputQps',
    scale: 1,
  },
  { name: 'trtbench_engine_bytes', unit: 'bytes', help: 'Size of the engine', metric: 'engineMib', scale: MIB },
  {
    name: 'trtbench_context_memory_bytes',
    unit: 'bytes',
    help: 'Device memory of the execution context',
    metric: 'contextMib',
    scale: MIB,
  },
  {
    name: 'trtbench_output_error_ratio',
    unit: 'ratio',
    help: 'Relative error of the outputs against those of the reference',
    metric: 'outputErrorPercent',
    scale: 0.01,
  },
];

/**
 * OpenMetrics 1.0 text (prometheus.io/docs/specs/om/open_metrics_spec): each value the median over the runs of a cell.
 * No time stamps, which node_exporter's text files and the push gateway refuse: when it was is a value of its own.
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

/** What other harnesses measured, each in its own unit: one family, told apart by labels. */
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

/** What stays the same from night to night: a commit as a label would begin a new series each time. */
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
