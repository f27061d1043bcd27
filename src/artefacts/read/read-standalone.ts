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
    const { metric, pattern } = reading;
    const { timer: statedTimer } = harnessOf({ ...harness, timer }, reading.stated);
    const about = { driver: kind, name, file, index, timer: statedTimer, metric, pattern };
    const standalone = { kind: 'report' as const, ...about };
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

/** The cell according to a report; null for facts that it lacks. */
type ReportedCell = Pick<StandaloneReport, 'harness' | 'model' | 'precision' | 'shapes' | 'cudaGraph' | 'identity'> & {
  readonly transfers: boolean | null;
};

/**
 * The cell of a standalone report, which takes precedence over statements of the user.
 * @throws UsageError naming the options that supply what is missing
 */
export function reportCell(
  path: string,
  report: ReportedCell,
  reading: StandaloneReading,
  needs: readonly NeededField[],
): KeyedCell {
  const { isStrict } = reading;
  const stated = isStrict ? reading.stated : { model: 'unnamed', ...reading.stated };
  const known = {
    model: report.model ?? stated.model,
    precision: report.precision ?? stated.precision,
    shapes: shapesOf(report.shapes, stated.shapes),
    cudaGraph: report.cudaGraph ?? stated.cudaGraph,
  };
  const lacking = (['model', ...needs] as const).filter((field) => known[field] === undefined);
  if (isStrict && lacking.length > 0) {
    const words = lacking.map((field) => FIELDS[field].words).join(', nor ');
    const options = lacking.map((field) => FIELDS[field].option).join(' ');
    throw new UsageError(`${printable(path)} does not state ${words}; add ${options}`);
  }
  const { model = 'unnamed', precision, shapes = {}, cudaGraph = false } = known;
  return keyedCell({
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
  });
}

/** The user may state a timer if the report does not. */
function harnessOf(harness: CellHarness, { timer }: StatedCell): CellHarness {
  return harness.timer === 'unknown' && timer !== undefined ? { ...harness, timer } : harness;
}

/** A report may state only its batch; the user states the remaining dimensions. */
function shapesOf(own: Shapes | null, stated: Shapes | undefined): Shapes | undefined {
  if (own === null) return stated;
  const batch = batchOf(own);
  const isBatchOnly = Object.values(own).every((dims) => dims.length === 1);
  if (stated === undefined || batch === null || !isBatchOnly || batchOf(stated) === null) return own;
  return Object.fromEntries(Object.entries(stated).map(([input, dims]) => [input, [batch, ...dims.slice(1)]]));
}
