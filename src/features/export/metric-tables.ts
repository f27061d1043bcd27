import { batchOf } from '../../records/cell.ts';
import { METRIC_IDS, metricDefinition, metricOf } from '../../records/metric.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { withoutControls } from '../../text/printable.ts';
import { harnessMetrics, marksOf, measuredRuns, type ReportedSweep, rowsOf, valueOf } from './reported-sweep.ts';
import type { ReportRow } from './reported-sweep.ts';

/** Removes digits left by unit conversion: 0.00178961, not 0.0017896099999999999. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

type Value = string | number | boolean | null | undefined;

/** One line per timed run, RFC 4180. Column names carry the units. */
export function csvText(report: ReportedSweep): string {
  const metrics = [...METRIC_IDS, ...harnessMetrics(report.cells)];
  const columns: readonly (readonly [name: string, value: (row: CsvRow) => Value])[] = [
    ['sweepId', ({ run }) => run.sweepId],
    ['matrix', ({ sweep }) => sweep?.matrix],
    ['provenance', ({ sweep }) => sweep?.provenance],
    ['commit', ({ sweep }) => sweep?.commit],
    ['branch', ({ sweep }) => sweep?.branch],
    ['runId', ({ run }) => run.runId],
    ['startedAt', ({ run }) => run.startedAt],
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
    ['axisFlags', ({ cell }) => joined(cell.axisFlags, ' ', (...words) => words.filter(Boolean).join('='))],
    ['harness', ({ cell }) => cell.harness?.name ?? 'trtexec'],
    ['timer', ({ cell }) => cell.harness?.timer ?? 'cudaEvent'],
    ['repeat', ({ run }) => run.repeat],
    ['outcome', ({ run }) => run.outcome.kind],
    ['reason', ({ run }) => outcomeReason(run.outcome)],
    ...metrics.map((metric) => [metric, ({ run }: CsvRow) => run.values[metric]] as const),
    ['boundBy', ({ run }) => run.boundBy],
    ['queries', ({ run }) => run.queries],
    ['wallS', ({ run }) => run.wallS],
    ['gpu', ({ gpu }) => gpu],
    ['driver', ({ environment }) => environment?.driver],
    ['tensorrt', ({ environment }) => environment?.tensorrt],
    ['host', ({ environment }) => environment?.host],
    ['verdict', ({ status }) => status],
    ['verdictMetric', ({ metric }) => metric.id],
    ['before', ({ base }) => base],
    ['now', ({ head }) => head],
    ['changePercent', ({ changePercent }) => changePercent],
    ['ciLowPercent', ({ ciPercent }) => ciPercent?.[0]],
    ['ciHighPercent', ({ ciPercent }) => ciPercent?.[1]],
    ['findings', ({ findings }) => findings.map(({ id }) => id).join(' ')],
    ['marks', ({ run }) => marksOf({ runs: [run] })],
  ];
  const rows = csvRows(report).map((row) => columns.map(([, value]) => csvCell(value(row))));
  return [columns.map(([name]) => name), ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

type CsvRow = ReturnType<typeof csvRows>[number];

function csvRows(report: ReportedSweep) {
  return rowsOf(report).flatMap((row) =>
    row.runs.map((run) => {
      const sweep = report.sweeps.find(({ sweepId }) => sweepId === run.sweepId);
      return { ...row, run, sweep, environment: report.environments.get(run.environmentId) };
    }),
  );
}

function joined<Inner>(
  values: Readonly<Record<string, Inner>>,
  by: string,
  text: (name: string, value: Inner) => string,
) {
  return Object.entries(values)
    .map((entry) => text(...entry))
    .join(by);
}

/** Text that a spreadsheet would read as a formula gets an apostrophe (OWASP, CSV injection). Numbers are safe. */
function csvCell(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '');
  const text = withoutControls(value);
  const tame = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
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
  const ofHarness = harnessMetrics(cells).map((metric) => {
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
  return [{ ...openMetrics, unit, metric, scale }];
}).toSorted((a, b) => Number(b.unit === 'seconds') - Number(a.unit === 'seconds'));

type Labels = Readonly<Record<string, string>>;

/**
 * OpenMetrics 1.0 text (prometheus.io/docs/specs/om/open_metrics_spec) with medians over the runs of a cell. Has no
 * time stamps, because node_exporter's textfile collector and the push gateway refuse them; the time is a separate
 * value. The metrics of other harnesses form one family, distinguished by labels.
 */
export function openMetricsText(report: ReportedSweep): string {
  const [{ branch, commit, matrix, provenance, startedAt, sweepId: sweep, tensorrt }] = report.sweeps;
  const cells = rowsOf(report).map((cell) => ({ cell, labels: labelsOf(cell, { matrix, provenance }) }));
  const ofHarness = cells.flatMap(({ cell, labels }) =>
    harnessMetrics([cell]).flatMap((metric) => {
      const { betterIs, label, unit } = metricOf(metric);
      return sample({ ...labels, metric: label, unit, better_is: betterIs }, valueOf(cell, metric), 1);
    }),
  );
  const outcomes = cells.flatMap(({ cell, labels }) => {
    const measured = measuredRuns(cell).length;
    const other = cell.runs.length - measured;
    return Object.entries({ measured, other }).flatMap(([outcome, runs]) => sample({ ...labels, outcome }, runs));
  });
  const begun = sample({ matrix: matrix ?? '' }, startedAt === null ? null : Date.parse(startedAt) / 1000);
  const about = { sweep, matrix, commit, branch, tensorrt, provenance };
  const info = Object.fromEntries(Object.entries(about).map(([name, text]) => [name, text ?? '']));
  const lines = [
    ...FAMILIES.flatMap(({ help, metric, name, scale, unit }) => {
      const samples = cells.flatMap(({ cell, labels }) => sample(labels, valueOf(cell, metric), scale));
      return family(name, 'gauge', help, unit, samples);
    }),
    ...family('harness_value', 'gauge', 'A number of another harness than trtexec', null, ofHarness),
    ...family('runs', 'gauge', 'Timed runs of a cell by how they turned out', null, outcomes),
    ...family('sweep_start_time', 'gauge', 'When the sweep began, since the epoch', 'seconds', begun),
    ...family('sweep', 'info', 'What was measured', null, sample(info, 1)),
  ];
  return `${lines.join('\n')}\n# EOF\n`;
}

/** @param scale factor to the base unit; null for an unscaled number */
function sample(labels: Labels, value: number | null, scale: number | null = null): string[] {
  const pairs = Object.entries(labels).map(([name, label]) => `${name}="${escaped(label)}"`);
  return value === null ? [] : [`{${pairs.join(',')}} ${scale === null ? value : rounded(value * scale)}`];
}

/** @param unit base unit of the specification, used as a suffix of the name; null for others */
function family(of: string, type: 'gauge' | 'info', help: string, unit: string | null, samples: readonly string[]) {
  if (samples.length === 0) return [];
  const name = ['trtbench', of, unit].filter((part) => part !== null).join('_');
  const units = unit === null ? [] : [`# UNIT ${name} ${unit}`];
  const suffix = type === 'info' ? '_info' : '';
  return [`# TYPE ${name} ${type}`, ...units, `# HELP ${name} ${help}`, ...samples.map((text) => name + suffix + text)];
}

/** Labels that stay constant from sweep to sweep. A commit as a label would start a new series each time. */
function labelsOf({ cell, gpu, name }: ReportRow, sweep: Pick<Sweep, 'matrix' | 'provenance'>): Labels {
  return {
    cell: name,
    key: cell.key.slice(0, 8),
    model: cell.model,
    precision: cell.precision,
    batch: String(batchOf(cell.shapes) ?? ''),
    cuda_graph: String(cell.cudaGraph ?? ''),
    streams: String(cell.streams),
    matrix: sweep.matrix ?? '',
    provenance: sweep.provenance,
    gpu: gpu ?? '',
  };
}

function escaped(text: string): string {
  const signs: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\ufffd' };
  return withoutControls(text)
    .toWellFormed()
    .replaceAll(/[\\"\n\r]/g, (sign) => signs[sign] ?? `\\${sign}`);
}
