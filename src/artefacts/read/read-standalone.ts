import { basename, dirname, extname } from 'node:path';

import { TooLargeError, UsageError, errorText } from '../../errors.ts';
import type { NeededField, StandaloneReport } from '../../harnesses/driver.ts';
import { findDriver } from '../../harnesses/registry.ts';
import { type KeyedCell, PRECISIONS, type Shapes, batchOf, keyedCell } from '../../records/cell.ts';
import type { CellHarness } from '../../records/harness.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { StatedCell } from '../../trtexec/cell-of-run.ts';
import { plainName, readWhole } from '../../files/files.ts';
import { RunFiles } from '../run-files.ts';
import { type RunManifest, emptyManifest } from '../run-manifest.ts';
import { type ReadRun, readStatedRun } from './read-run.ts';
import type { RunSource } from './recognise.ts';

export interface StandaloneReading {
  readonly stated: StatedCell;
  /** False if unknown fields may stay open, because nothing is stored. */
  readonly isStrict: boolean;
  /** Number of runs that the times of a trace are summed over. */
  readonly runs: number | null;
  readonly as: string | null;
  readonly metric: CustomMetricId | null;
  readonly pattern: string | null;
  /** File with the output of nvidia-smi for the only log. */
  readonly watched?: string | undefined;
}

export const NOTHING_STATED: StandaloneReading = {
  stated: {},
  isStrict: false,
  runs: null,
  as: null,
  metric: null,
  pattern: null,
};

/** Fields of a cell that a file may not state, with the option that states each. */
const FIELDS = {
  model: { words: 'its model', option: '--model NAME' },
  precision: { words: 'its precision', option: '--precision NAME' },
  shapes: { words: 'its shapes', option: '--shapes input:8x3x224x224' },
  cudaGraph: { words: 'whether it used a CUDA graph', option: '--cuda-graph on|off' },
} as const;

/** @throws UsageError if a report is damaged, or part of its cell is unknown */
export async function readReportFile(
  { path, driver: kind }: Extract<RunSource, { kind: 'report' }>,
  reading: StandaloneReading,
  signal?: AbortSignal,
): Promise<ReadRun[]> {
  const driver = findDriver(kind);
  if (driver === null) throw new UsageError(`this version of bench has no driver ${printable(kind)}`);
  const bytes = await contentOf(path, signal);
  const file = plainName(basename(path));
  const name = `report${extname(file)}`;
  const runs: ReadRun[] = [];
  const reports = driver.reports(bytes.toString('utf8'), file, reading.metric, reading.pattern);
  for (const [index, report] of reports.entries()) {
    const { result, harness, startedAt, notes = [] } = report;
    if (result.kind === 'faulty') throw new UsageError(`${printable(path)}: ${result.problem}`);
    const { transfers, timer } = result.reading.method;
    const cell = reportCell(path, { ...report, transfers }, reading, driver.needs);
    const standalone = {
      kind: 'report' as const,
      driver: kind,
      name,
      file,
      index,
      timer: harnessOf({ ...harness, timer }, reading.stated).timer,
      metric: reading.metric,
      pattern: reading.pattern,
    };
    const stated = { role: 'timed' as const, cell, startedAt, lone: standalone, notes: [...notes] };
    runs.push(await readKeptFiles(path, stated, new Map([[path, name]]), bytes));
  }
  return runs;
}

/**
 * Reads standalone files as they will be kept in a run folder.
 * @param sources name in the run folder by path
 * @param bytes of the only file, if already read
 * @throws UsageError if they contain nothing
 */
export async function readKeptFiles(
  path: string,
  stated: Partial<RunManifest>,
  sources: ReadonlyMap<string, string>,
  bytes?: Buffer,
): Promise<ReadRun> {
  const contents = new Map<string, Buffer>();
  for (const [source, name] of sources) contents.set(name, bytes ?? (await contentOf(source)));
  const files = RunFiles.read(dirname(path), contents);
  const [run] = await readStatedRun(files, { ...emptyManifest(), ...stated });
  if (run === undefined || run.outcome.kind === 'failed') {
    // Replaces the name under which the file would be kept, which the user does not know.
    const problem = run?.outcome.evidence[0]?.text.replace(/^\S+ is damaged: /, '') ?? 'it contains no run';
    throw new UsageError(`${printable(path)}: ${problem}`);
  }
  return { ...run, path, sources };
}

/** @throws UsageError when the file cannot be read to its end */
export async function contentOf(path: string, signal?: AbortSignal): Promise<Buffer> {
  try {
    return await readWhole(path, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TooLargeError) throw error;
    const reason = errorText(error);
    throw new UsageError(`${printable(path)} cannot be read to its end: ${reason}`);
  }
}

/** @throws UsageError naming the options that supply what is missing */
export function reportCell(
  path: string,
  report: ReportedCell,
  { stated, isStrict }: StandaloneReading,
  needs: Parameters<typeof cellOfReport>[2],
) {
  const found = isStrict
    ? cellOfReport(report, stated, needs)
    : cellOfReport(report, { model: 'unnamed', ...stated }, []);
  if (found.kind === 'complete') return found.cell;
  const words = found.fields.map((field) => FIELDS[field].words).join(', nor ');
  const options = found.fields.map((field) => FIELDS[field].option).join(' ');
  throw new UsageError(`${printable(path)} does not state ${words}; add ${options}`);
}

/** The cell according to a report; null for facts that it lacks. */
type ReportedCell = Pick<StandaloneReport, 'harness' | 'model' | 'precision' | 'shapes' | 'cudaGraph' | 'identity'> & {
  readonly transfers: boolean | null;
};

type ReportCell =
  | { readonly kind: 'complete'; readonly cell: KeyedCell }
  | { readonly kind: 'lacking'; readonly fields: readonly ('model' | NeededField)[] };

/** The cell of a standalone report. The report takes precedence over statements of the user. */
function cellOfReport(report: ReportedCell, stated: StatedCell, needs: readonly NeededField[]): ReportCell {
  const known = {
    model: report.model ?? stated.model,
    precision: report.precision ?? stated.precision,
    shapes: shapesOf(report.shapes, stated.shapes),
    cudaGraph: report.cudaGraph ?? stated.cudaGraph,
  };
  const fields = (['model', ...needs] as const).filter((field) => known[field] === undefined);
  if (fields.length > 0) return { kind: 'lacking', fields };
  const { model = 'unnamed', precision, shapes = {}, cudaGraph = false } = known;
  return {
    kind: 'complete',
    cell: keyedCell({
      model,
      precision: isOneOf(PRECISIONS, precision) ? precision : 'unstated',
      precisionVia: 'engine',
      shapes,
      cudaGraph,
      dataTransfers: report.transfers ?? false,
      streams: 1,
      spinWait: true,
      inputs: { kind: 'random' },
      axisFlags: report.identity,
      harness: harnessOf(report.harness, stated),
    }),
  };
}

/** The user may state a timer if the report does not. */
function harnessOf(harness: CellHarness, { timer }: StatedCell): CellHarness {
  return harness.timer === 'unknown' && timer !== undefined ? { ...harness, timer } : harness;
}

/** A report may state only its batch; the user states the remaining dimensions. */
function shapesOf(own: Shapes | null, stated: Shapes | undefined): Shapes | undefined {
  const batch = own === null ? null : batchOf(own);
  const isBatchOnly = own !== null && Object.values(own).every((dims) => dims.length === 1);
  if (own === null) return stated;
  if (stated === undefined || batch === null || !isBatchOnly || batchOf(stated) === null) {
    return own;
  }
  return Object.fromEntries(Object.entries(stated).map(([input, dims]) => [input, [batch, ...dims.slice(1)]]));
}
