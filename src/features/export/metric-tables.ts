import { batchOf } from '../../records/cell.ts';
import { METRIC_IDS, metricDefinition, type MetricId, metricOf } from '../../records/metric.ts';
import type { CellRun } from '../../records/run.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { withoutControls } from '../../text/printable.ts';
import {
  environmentOf,
  harnessMetrics,
  judgementOf,
  marksOf,
  measuredRuns,
  type ReportedCell,
  type ReportedSweep,
  valueOf,
} from './reported-sweep.ts';

/** Removes digits left by unit conversion: 0.00178961, not 0.0017896099999999999. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

type Value = string | number | boolean | null;
type Column = readonly [name: string, value: (cell: ReportedCell, run: CellRun) => Value];

/** One line per timed run, RFC 4180. Column names carry the units. */
export function csvText({ cells, environments, sweeps }: ReportedSweep): string {
  const sweepOf = ({ sweepId }: CellRun) => sweeps.find((sweep) => sweep.sweepId === sweepId);
  const ofSweep = (['matrix', 'provenance', 'commit', 'branch'] as const).map((name): Column => [
    name,
    (_, run) => sweepOf(run)?.[name] ?? null,
  ]);
  const metrics = [...METRIC_IDS, ...harnessMetrics(cells)];
  const columns: readonly Column[] = [
    ['sweepId', (_, run) => run.sweepId],
    ...ofSweep,
    ['runId', (_, run) => run.runId],
    ['startedAt', (_, run) => run.startedAt],
    ['cellKey', ({ cell }) => cell.key],
    ['cell', ({ name }) => name],
    ['model', ({ cell }) => cell.model],
    ['precision', ({ cell }) => cell.precision],
    ['shapes', ({ cell }) => joined(cell.shapes, ',', (input, dims) => `${input}:${dims.join('x')}`)],
    ['batch', ({ cell }) => batchOf(cell.shapes)],
    ['cudaGraph', ({ cell }) => cell.cudaGraph],
    ['dataTransfers', ({ cell }) => cell.dataTransfers],
    ['spinWait', ({ cell }) => cell.spinWait],
    ['streams', ({ cell }) => cell.streams],
    [
      'axisFlags',
      ({ cell }) => joined(cell.axisFlags, ' ', (flag, value) => (value === '' ? flag : `${flag}=${value}`)),
    ],
    ['harness', ({ cell }) => cell.harness?.name ?? 'trtexec'],
    ['timer', ({ cell }) => cell.harness?.timer ?? 'cudaEvent'],
    ['repeat', (_, run) => run.repeat],
    ['outcome', (_, run) => run.outcome.kind],
    ['reason', (_, run) => outcomeReason(run.outcome)],
    ...metrics.map((metric): Column => [metric, (_, run) => run.values[metric] ?? null]),
    ['boundBy', (_, run) => run.boundBy],
    ['queries', (_, run) => run.queries],
    ['wallS', (_, run) => run.wallS],
    ['gpu', (cell) => environmentOf(cell, environments)?.gpuName ?? null],
    ['driver', (_, run) => environments.get(run.environmentId)?.driver ?? null],
    ['tensorrt', (_, run) => environments.get(run.environmentId)?.tensorrt ?? null],
    ['host', (_, run) => environments.get(run.environmentId)?.host ?? null],
    ['verdict', (cell) => judgementOf(cell).status],
    ['verdictMetric', (cell) => judgementOf(cell).metric.id],
    ['before', (cell) => judgementOf(cell).base],
    ['now', (cell) => judgementOf(cell).head],
    ['changePercent', (cell) => judgementOf(cell).changePercent],
    ['ciLowPercent', (cell) => judgementOf(cell).ciPercent?.[0] ?? null],
    ['ciHighPercent', (cell) => judgementOf(cell).ciPercent?.[1] ?? null],
    ['findings', ({ judgement: of }) => (of.kind === 'judged' ? of.findings.map(({ id }) => id).join(' ') : null)],
    ['marks', (_, run) => marksOf({ runs: [run] })],
  ];
  const rows = cells.flatMap((cell) => cell.runs.map((run) => columns.map(([, value]) => csvCell(value(cell, run)))));
  return [columns.map(([name]) => name), ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

function joined<Inner>(
  values: Readonly<Record<string, Inner>>,
  by: string,
  text: (name: string, value: Inner) => string,
) {
  return Object.entries(values)
    .map(([name, value]) => text(name, value))
    .join(by);
}

/** Text that a spreadsheet would read as a formula gets an apostrophe (OWASP, CSV injection). Numbers are safe. */
function csvCell(value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = withoutControls(value);
  const tame = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
}

interface Measure {
  readonly name: string;
  readonly metric: MetricId;
  readonly scale: number;
}

/** Measures that Bencher defines come first. */
const BENCHER = METRIC_IDS.flatMap((metric) => {
  const { bencher } = metricDefinition(metric);
  if (bencher === undefined) return [];
  const { nativeScale, slug } = bencher;
  return [{ name: slug, metric, scale: nativeScale ?? 1, isNative: nativeScale !== undefined }];
}).toSorted((a, b) => Number(b.isNative) - Number(a.isNative));

/** Longest name of a benchmark, in characters. */
const MAX_NAME = 1024;

/**
 * Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format): median, minimum and maximum over the runs
 * of each cell. Bencher's slugs are letters, digits and dashes.
 */
export function bencherJson({ cells }: ReportedSweep) {
  const ofHarness = harnessMetrics(cells).map((metric): Measure => {
    const { label, unit } = metricOf(metric);
    const slug = `${label}-${unit}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
    return { name: slug.replaceAll(/^-|-$/g, ''), metric, scale: 1 };
  });
  const entries = cells.map((cell) => {
    const measures = [...BENCHER, ...ofHarness].flatMap(({ metric, name, scale }) => {
      const value = valueOf(cell, metric);
      if (value === null) return [];
      const all = measuredRuns(cell).flatMap(({ values }) => values[metric] ?? []);
      const ends = { lower_value: rounded(Math.min(...all) * scale), upper_value: rounded(Math.max(...all) * scale) };
      return [[name, { value: rounded(value * scale), ...(all.length > 1 ? ends : {}) }] as const];
    });
    const end = `… ${cell.cell.key.slice(0, 8)}`;
    const short = `${cell.name.slice(0, MAX_NAME - end.length)}${end}`.toWellFormed();
    return [cell.name.length <= MAX_NAME ? cell.name : short, Object.fromEntries(measures)] as const;
  });
  return Object.fromEntries(entries.filter(([, measures]) => Object.keys(measures).length > 0));
}

/** Base units of the specification. Metrics in other units keep their name and value. */
const BASE_UNITS: Readonly<Record<string, { readonly unit: string; readonly scale: number }>> = {
  s: { unit: 'seconds', scale: 1 },
  ms: { unit: 'seconds', scale: 1e-3 },
  MiB: { unit: 'bytes', scale: 1024 ** 2 },
  '%': { unit: 'ratio', scale: 0.01 },
};

/** Times first. */
const FAMILIES = METRIC_IDS.flatMap((metric) => {
  const { openMetrics } = metricDefinition(metric);
  if (openMetrics === undefined) return [];
  const { unit = null, scale = 1 } = BASE_UNITS[metricOf(metric).unit] ?? {};
  return [{ name: openMetrics.name, unit, help: openMetrics.help, metric, scale }];
}).toSorted((a, b) => Number(b.unit === 'seconds') - Number(a.unit === 'seconds'));

type Labels = Readonly<Record<string, string>>;

/**
 * OpenMetrics 1.0 text (prometheus.io/docs/specs/om/open_metrics_spec) with medians over the runs of a cell. Has no
 * time stamps, because node_exporter's textfile collector and the push gateway refuse them; the time is a separate
 * value. The metrics of other harnesses form one family, distinguished by labels.
 */
export function openMetricsText(report: ReportedSweep): string {
  const { cells, sweeps } = report;
  const [sweep] = sweeps;
  const about = new Map(cells.map((cell) => [cell, labelsOf(cell, report)]));
  const gauges = FAMILIES.map(({ help, metric, name, scale, unit }) => {
    const samples = cells.flatMap((cell) => sample(about.get(cell), valueOf(cell, metric), scale));
    return family(name, 'gauge', help, unit, samples);
  });
  const ofHarness = cells.flatMap((cell) =>
    harnessMetrics([cell]).flatMap((metric) => {
      const { betterIs, label, unit } = metricOf(metric);
      return sample({ ...about.get(cell), metric: label, unit, better_is: betterIs }, valueOf(cell, metric), 1);
    }),
  );
  const outcomes = cells.flatMap((cell) => {
    const measured = measuredRuns(cell).length;
    return [
      ...sample({ ...about.get(cell), outcome: 'measured' }, measured),
      ...sample({ ...about.get(cell), outcome: 'other' }, cell.runs.length - measured),
    ];
  });
  const start = sweep.startedAt === null ? null : Date.parse(sweep.startedAt) / 1000;
  const begun = sample({ matrix: sweep.matrix ?? '' }, start);
  const info = {
    sweep: sweep.sweepId,
    matrix: sweep.matrix ?? '',
    commit: sweep.commit ?? '',
    branch: sweep.branch ?? '',
    tensorrt: sweep.tensorrt ?? '',
    provenance: sweep.provenance,
  };
  const lines = [
    ...gauges.flat(),
    ...family('harness_value', 'gauge', 'A number of another harness than trtexec', null, ofHarness),
    ...family('runs', 'gauge', 'Timed runs of a cell by how they turned out', null, outcomes),
    ...family('sweep_start_time', 'gauge', 'When the sweep began, since the epoch', 'seconds', begun),
    ...family('sweep', 'info', 'What was measured', null, sample(info, 1)),
  ];
  return `${lines.join('\n')}\n# EOF\n`;
}

/** @param scale factor to the base unit; null for an unscaled number */
function sample(of: Labels | undefined, value: number | null, scale: number | null = null): string[] {
  const pairs = Object.entries(of ?? {}).map(([name, label]) => `${name}="${escaped(label)}"`);
  return value === null ? [] : [`{${pairs.join(',')}} ${scale === null ? value : rounded(value * scale)}`];
}

/** @param unit base unit of the specification, used as a suffix of the name; null for others */
function family(of: string, type: 'gauge' | 'info', help: string, unit: string | null, samples: readonly string[]) {
  if (samples.length === 0) return [];
  const name = ['trtbench', of, unit].filter((part) => part !== null).join('_');
  const head = [
    `# TYPE ${name} ${type}`,
    ...(unit === null ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
  ];
  return [...head, ...samples.map((text) => `${name}${type === 'info' ? '_info' : ''}${text}`)];
}

/** Labels that stay constant from sweep to sweep. A commit as a label would start a new series each time. */
function labelsOf(cell: ReportedCell, { environments, sweeps }: ReportedSweep): Labels {
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

function escaped(text: string): string {
  return withoutControls(text)
    .toWellFormed()
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\ufffd');
}
