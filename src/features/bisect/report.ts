import type { Io } from '../../cli/io.ts';
import { gateMetric, metricOf } from '../../records/metric.ts';
import { defined, isOneOf, keysOf } from '../../text/unknown-values.ts';
import { namedCell, onlyCell } from '../../selection/by-name.ts';
import type { Comparison } from '../compare/index.ts';
import { readMatrix } from '../plan/index.ts';
import type { BisectOutput } from './output.ts';
import type { BisectRequest } from './request.ts';

export interface Settings {
  readonly request: BisectRequest;
  readonly bisectId: string;
  /** Next to the store: what git and the factors need. */
  readonly folder: string;
  /** Of the store. */
  readonly db: string;
  readonly telemetry: boolean;
}

/** From this many runs a side the variance of one cell alone keeps its promise (3.0 % false ones in 20,000 trials). */
const LEAST_RUNS = 4;

/**
 * How both ends and every candidate are measured: one cell, in turns with the good end.
 * @throws UsageError where the matrix has no such cell, or several
 */
export function measureOptions({ db, request, telemetry }: Settings, matrix: string, io: Io) {
  const { cell: name, maxRuns, metric, replay, trtexec } = request;
  const cells = readMatrix(matrix, io).cells.map(({ cell }) => cell);
  const { key } = name === null ? onlyCell(cells, 'the matrix has', cells) : namedCell(cells, name);
  return {
    db,
    matrix,
    filter: `key=${key}`,
    repeats: Math.min(LEAST_RUNS, maxRuns),
    maxRepeats: maxRuns,
    telemetry,
    ...(request.restart ? { force: true as const } : {}),
    ...defined({ metric: metric ?? undefined, replay: replay ?? undefined, trtexec: trtexec ?? undefined }),
  };
}

type Compared = { readonly output: Comparison } | null;

const VERDICTS = { slower: 'slower', same: 'notSlower', faster: 'notSlower', unclear: 'unclear' } as const;

/** Whether a side is slower than the good end. */
export function verdictOf(compared: Compared): 'slower' | 'notSlower' | 'unclear' | 'failed' {
  const verdict = compared?.output.cells[0]?.verdict;
  return verdict !== undefined && isOneOf(keysOf(VERDICTS), verdict) ? VERDICTS[verdict] : 'failed';
}

export function evidenceOf(compared: Compared): BisectOutput['change'] {
  const [cell] = compared?.output.cells ?? [];
  if (cell === undefined || cell.changePercent === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = cell;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}

type Found = Pick<BisectOutput, 'bad' | 'causes' | 'good' | 'kind' | 'notes' | 'status' | 'steps'>;

/** @param ends the bad end against the good one; null where one of them could not be measured */
export function outputOf({ bisectId, request }: Settings, ends: Compared, found: Found): BisectOutput {
  const [cell] = ends?.output.cells ?? [];
  const metric = metricOf(cell?.metric ?? gateMetric(request.metric, { streams: 1 }));
  const change = evidenceOf(ends);
  const runs = [change, ...found.steps.map(({ evidence }) => evidence)].flatMap((evidence) => evidence?.runs ?? []);
  return {
    schemaVersion: 1,
    bisectId,
    key: cell?.key ?? null,
    label: cell?.label ?? null,
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    provenance: [ends?.output.provenance ?? []].flat()[0] ?? null,
    change,
    runs: runs.reduce((a, b) => a + b, 0),
    ...found,
  };
}
