import { usualBound } from '../../judge/bound.ts';
import { diffCommand, type WhySides } from './context.ts';
import { explainChange } from './explain-change.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { allCells } from '../../store/cells.ts';
import { findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { WhyOutput } from './output.ts';
import { whyText } from './text.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { SHORTEST_ID } from '../../selection/by-name.ts';
import { cellsInWords, type CellPoint, resolvePoints } from '../../selection/cell-points.ts';
import { yieldToEventLoop, type Io, printResult } from '../../cli/io.ts';
import { isPath } from '../../selection/is-path.ts';
import { withRunsOf } from '../../selection/runs-of-paths.ts';
import { refuseSharedSweep } from '../../selection/sides.ts';
import { unmeasuredReasons, whySides } from './why-sides.ts';
import { withStore } from '../../cli/with-store.ts';
import type { WhyOptions } from './command.ts';

/** `bench why [CELL] [A] [B]`, or the id of a finding: sides are sweeps or folders of runs. */
export async function why(words: readonly string[], options: WhyOptions, io: Io): Promise<ExitCode> {
  const paths = words.length > 1 ? pathsIn(words, io) : null;
  const output =
    paths !== null
      ? await withRunsOf(paths.refs, io, async ({ db }, sweeps) => {
          const [a, b] = sweeps.map(({ sweepId }) => sweepId);
          return explain(db, paths.cell, [a ?? '', b ?? ''], options, io, paths.refs);
        })
      : await withStore(options, io, ({ db }) => {
          const { cell, refs } = sidesOfFinding(db, words) ?? sidesIn(words, allCells(db));
          return explain(db, cell, refs, options, io);
        });
  return printResult(io, options, output, whyText);
}

interface AskedSides {
  readonly cell: string | null;
  readonly refs: readonly [string, string];
}

/** Two paths, perhaps behind a cell; null where the sides are in the store. */
function pathsIn(words: readonly string[], io: Io): AskedSides | null {
  const [base, head] = words.slice(-2);
  if (base === undefined || head === undefined || words.length > 3) return null;
  const areBoth = isPath(base, io) && isPath(head, io);
  return areBoth ? { cell: words.length === 3 ? (words[0] ?? null) : null, refs: [base, head] } : null;
}

/** The clearest cell of a finding between its last good sweep and its first bad one; null where the word is no finding's id. */
function sidesOfFinding(db: StoreDatabase, [id = '', ...others]: readonly string[]): AskedSides | null {
  if (id.length < SHORTEST_ID || others.length > 0 || cellsInWords(allCells(db), [id]).length > 0) return null;
  const [finding, ...more] = findFindingsByPrefix(db, id);
  if (finding === undefined && /^[0-9a-f]{8,32}$/.test(id)) {
    throw new UsageError(`no cell and no finding ${id} is stored; \`bench check\` stores what it finds`);
  }
  if (finding === undefined) return null;
  if (more.length > 0) throw new UsageError(`${printable(id)} is the start of several findings`);
  const { cells, firstBadSweepId, lastGoodSweepId } = finding;
  const [clearest] = cells;
  if (clearest === undefined || lastGoodSweepId === null) {
    throw new UsageError(`finding ${printable(id)} has no last good sweep: name a cell and two sweeps`);
  }
  return { cell: clearest.cellKey, refs: [lastGoodSweepId.slice(0, 8), firstBadSweepId.slice(0, 8)] };
}

/** Words that all name the same cells are a cell; otherwise the last two are its sides. */
function sidesIn(
  words: readonly string[],
  cells: readonly KeyedCell[],
): Omit<AskedSides, 'refs'> & { readonly refs: AskedSides['refs'] | null } {
  const [a, b, c, ...more] = words;
  if (a === undefined || b === undefined) return { cell: a ?? null, refs: null };
  if (cellsInWords(cells, words).length > 0) return { cell: words.join(' '), refs: null };
  if (c === undefined) {
    throw new UsageError(`which cell? bench why CELL ${printable(a)} ${printable(b)}; see \`bench ls cells\``);
  }
  if (more.length > 0) throw new UsageError('bench why takes a cell and two sides');
  return { cell: a, refs: [b, c] };
}

async function explain(
  db: StoreDatabase,
  cell: string | null,
  refs: readonly [string, string] | null,
  { metric }: WhyOptions,
  io: Io,
  paths: readonly [string, string] | null = null,
): Promise<WhyOutput> {
  const { base, head } = await resolvePoints(db, cell, refs, io);
  if (base.cell.key === head.cell.key && base.runId === head.runId) {
    refuseSharedSweep({ base, head });
  }
  await yieldToEventLoop(io);
  const points = [pointOf(base, paths?.[0]), pointOf(head, paths?.[1])] as const;
  const sides = whySides(db, ...points, paths === null);
  await yieldToEventLoop(io);
  const explanation = explainChange(sides, metric ?? null);
  if (explanation === null) {
    for (const [side, at] of [['base', 0] as const, ['head', 1] as const]) {
      const reasons = sides[side].length === 0 ? unmeasuredReasons(db, points[at]) : '';
      if (reasons === '') continue;
      const more = sides.layers === null ? '' : `; what the profiles say: ${diffCommand(sides.names)}`;
      throw new UsageError(`${side} has no valid run: ${printable(`${reasons}${more}`)}`);
    }
    const lacking = sides.base.length === 0 ? base : head;
    const where = printable(lacking.sweeps[0]?.name ?? lacking.ref);
    throw new UsageError(
      `${where}: no timed run of this cell there has a number to compare; profiles alone: bench layers --diff`,
    );
  }
  return { schemaVersion: 1, base: sideOutput(base, sides.base), head: sideOutput(head, sides.head), ...explanation };
}

function pointOf({ cell, sweeps, runId, ref }: CellPoint, path?: string) {
  return { cell, sweepIds: sweeps.map(({ sweepId }) => sweepId), runId, name: path ?? ref };
}

function sideOutput({ ref, cell, sweeps, note }: CellPoint, runs: WhySides['base']): WhyOutput['base'] {
  return {
    ref: sweeps[0]?.name ?? ref,
    key: cell.key,
    label: cellLabel(cell),
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    provenance: [...new Set(sweeps.map(({ provenance }) => provenance))],
    boundBy: usualBound(runs.map(({ boundBy }) => boundBy)),
    note,
  };
}
