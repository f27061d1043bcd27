import { gateMetric, isMetric, type MetricId } from '../../records/metric.ts';
import { usualBound } from '../../judge/bound.ts';
import { explainChange } from './explain-change.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { allCells } from '../../store/cells.ts';
import { acknowledgementsOf, lastingFindings } from '../../store/sweeps/findings.ts';
import type { Finding } from '../../records/finding.ts';
import { cellLabel } from '../../records/cell.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { type WhyOutput, whyText } from './text.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findingByPrefix, isPath } from '../../selection/by-name.ts';
import { cellsInWords, type CellPoint, resolvePoints } from '../../selection/cell-points.ts';
import { yieldToEventLoop, type Io, printResult } from '../../cli/io.ts';
import { withRunsOf } from '../../selection/runs-of-paths.ts';
import { refuseSharedSweep } from '../../selection/sides.ts';
import { unmeasuredReasons, whySides, type WhySides } from './why-sides.ts';
import { withStore } from '../../cli/with-store.ts';
import type { WhyOptions } from './command.ts';

/** `bench why [CELL] [A] [B]`, or with the ID of a finding. Sides are sweeps or folders of runs. */
export async function why(words: readonly string[], options: WhyOptions, io: Io): Promise<ExitCode> {
  const paths = words.length > 1 ? pathsIn(words, io) : null;
  const output: WhyOutput =
    paths !== null
      ? await withRunsOf(paths.refs, io, async ({ db }, sweeps) => {
          const [a, b] = sweeps.map(({ sweepId }) => sweepId);
          return explain(db, { cell: paths.cell, refs: [a ?? '', b ?? ''], paths: paths.refs }, options, io);
        })
      : await withStore(options, io, ({ db }) => explain(db, askedSides(db, words, io), options, io));
  return printResult(io, options, output, whyText);
}

type Refs = readonly [base: string, head: string];

type Asked = Readonly<{ cell: string | null; refs: Refs | null; paths?: Refs; metrics?: readonly MetricId[] }>;

/** Two paths, with or without a cell in front; null if the sides are in the store. */
function pathsIn(words: readonly string[], io: Io) {
  const [head, base, cell = null] = words.toReversed();
  if (base === undefined || head === undefined || !isPath(base, io) || !isPath(head, io)) return null;
  const refs: Refs = [base, head];
  return { cell, refs };
}

/**
 * What the words select: a finding, a cell (with or without sides), two cells, or only two sides. Two sides without a
 * cell belong to the cell of the only open finding.
 */
function askedSides(db: StoreDatabase, words: readonly string[], io: Io): Asked {
  const cells = allCells(db);
  // If all words together match cells, they name a cell; otherwise the last two are its sides.
  const isCell = (...named: readonly string[]): boolean => cellsInWords(cells, named).length > 0;
  const [a, b, c] = words;
  if (a !== undefined && isCell(...words)) return { cell: words.join(' '), refs: null };
  if (a !== undefined && b !== undefined && c !== undefined) return { cell: a, refs: [b, c] };
  if (a !== undefined && b === undefined) {
    const finding = findingByPrefix(db, a);
    return finding === null ? { cell: a, refs: null } : sidesOfFinding(finding);
  }
  if (a !== undefined && b !== undefined && isCell(a) && isCell(b)) return { cell: null, refs: [a, b] };
  if (a !== undefined && isCell(a)) throw new UsageError(`name two sides, or none: ${ORDER}`);
  const refs: Refs | null = a === undefined || b === undefined ? null : [a, b];
  const finding = onlyOpenFinding(db);
  if (finding === null && refs !== null) {
    const line = shellLine(['bench', 'why', 'CELL', ...refs]);
    throw new UsageError(`which cell? ${line}; see \`bench ls cells\``);
  }
  if (finding === null) return { cell: null, refs };
  const own = sidesOfFinding(finding);
  io.err(`note: the only open finding: ${finding.findingId.slice(0, 8)}\n`);
  return { ...own, refs: refs ?? own.refs };
}

const ORDER = 'bench why CELL BASE HEAD';

function onlyOpenFinding(db: StoreDatabase): Finding | null {
  const lasting = lastingFindings(db);
  const ids = lasting.map(({ findingId }) => findingId);
  const acknowledged = acknowledgementsOf(db, ids);
  const [only = null, ...others] = lasting.filter(({ findingId }) => !acknowledged.has(findingId));
  return others.length > 0 ? null : only;
}

/** The clearest cell of a finding between its last good sweep and its first bad one. */
function sidesOfFinding({ cells, cells: [clearest], findingId, firstBadSweepId, lastGoodSweepId }: Finding): Asked {
  if (clearest === undefined || lastGoodSweepId === null) {
    const id = findingId.slice(0, 8);
    throw new UsageError(`finding ${id} has no last good sweep: name a cell and two sweeps: ${ORDER}`);
  }
  const refs: Refs = [lastGoodSweepId.slice(0, 8), firstBadSweepId.slice(0, 8)];
  const metrics = cells.flatMap(({ cellKey, metric }) => (cellKey === clearest.cellKey ? metric : [])).filter(isMetric);
  return { cell: clearest.cellKey, refs, metrics };
}

async function explain(db: StoreDatabase, { cell, paths, refs, metrics = [] }: Asked, { metric }: WhyOptions, io: Io) {
  const { base, head } = await resolvePoints(db, cell, refs, io);
  if (base.cell.key === head.cell.key && base.runId === head.runId) refuseSharedSweep({ base, head });
  await yieldToEventLoop(io);
  const points = [pointOf(base, paths?.[0]), pointOf(head, paths?.[1])] as const;
  const sides = whySides(db, ...points, paths === undefined);
  await yieldToEventLoop(io);
  const judged = gateMetric(null, base.cell);
  const own = metrics.includes(judged) ? judged : (metrics[0] ?? judged);
  const explanation = explainChange(sides, metric ?? (own === 'gpuComputeMs' ? null : own));
  if (explanation === null) {
    ensure(sides.base.length === 0 || sides.head.length === 0, 'the runs of both sides share no such metric');
    const isBase = sides.base.length === 0;
    const reasons = unmeasuredReasons(db, points[isBase ? 0 : 1]) || 'none is timed; for profiles: bench layers --diff';
    throw new UsageError(`${isBase ? 'base' : 'head'} has no valid run: ${reasons}`);
  }
  const named = { base: sideOutput(base, sides.base), head: sideOutput(head, sides.head) };
  return { schemaVersion: 1 as const, ...named, ...explanation };
}

function pointOf({ cell, sweeps, runId, ref }: CellPoint, path?: string) {
  return { cell, sweepIds: sweeps.map(({ sweepId }) => sweepId), runId, name: path ?? ref };
}

function sideOutput({ ref, cell, sweeps, note }: CellPoint, runs: WhySides['base']): WhyOutput['base'] {
  const sweepIds = sweeps.map(({ sweepId }) => sweepId);
  const provenance = [...new Set(sweeps.map((sweep) => sweep.provenance))];
  const boundBy = usualBound(runs.map((run) => run.boundBy));
  const commit = sweeps[0]?.commit ?? null;
  const about = { key: cell.key, label: cellLabel(cell), sweepIds, commit, provenance, boundBy, note };
  return { ref: sweeps[0]?.name ?? ref, ...about };
}
