import { diffCommand } from './context.ts';
import { explainChange } from './explain-change.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { WhyOutput } from './output.ts';
import { whyText } from './text.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type CellPoint, resolvePoints } from '../../selection/cell-points.ts';
import { yieldToEventLoop, type Io, printResult } from '../../cli/io.ts';
import { isPath } from '../../selection/is-path.ts';
import { withRunsOf } from '../../selection/runs-of-paths.ts';
import { refuseSharedSweep } from '../../selection/sides.ts';
import { unmeasuredReasons, whySides } from './why-sides.ts';
import { withStore } from '../../cli/with-store.ts';
import type { WhyOptions } from './command.ts';

/** `bench why [CELL] [A] [B]`: sides are sweeps or folders of runs. */
export async function why(words: readonly string[], options: WhyOptions, io: Io): Promise<ExitCode> {
  const { cell, refs } = sidesIn(words, io);
  const output =
    refs !== null && refs.every((ref) => isPath(ref, io))
      ? await withRunsOf(refs, io, async ({ db }, sweeps) => {
          const [a, b] = sweeps.map(({ sweepId }) => sweepId);
          return explain(db, cell, [a ?? '', b ?? ''], options, io, refs);
        })
      : await withStore(options, io, ({ db }) => explain(db, cell, refs, options, io));
  printResult(io, options, output, whyText);
  return EXIT_CODES.fine;
}

/** One word is a cell, two are sides, three are a cell and its sides. */
function sidesIn(words: readonly string[], io: Io): { cell: string | null; refs: readonly [string, string] | null } {
  const [a, b, c, ...more] = words;
  if (more.length > 0) throw new UsageError('bench why takes a cell and two sides');
  if (a === undefined) return { cell: null, refs: null };
  if (b === undefined) return { cell: a, refs: null };
  if (c !== undefined) return { cell: a, refs: [b, c] };
  if (isPath(a, io) || isPath(b, io)) return { cell: null, refs: [a, b] };
  throw new UsageError(`which cell? bench why CELL ${printable(a)} ${printable(b)}; see \`bench ls cells\``);
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
  return { schemaVersion: 1, base: sideOutput(base), head: sideOutput(head), ...explanation };
}

function pointOf({ cell, sweeps, runId, ref }: CellPoint, path?: string) {
  return { cell, sweepIds: sweeps.map(({ sweepId }) => sweepId), runId, name: path ?? ref };
}

function sideOutput({ ref, cell, sweeps, note }: CellPoint): WhyOutput['base'] {
  return {
    ref: sweeps[0]?.name ?? ref,
    key: cell.key,
    label: cellLabel(cell),
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    provenance: [...new Set(sweeps.map(({ provenance }) => provenance))],
    note,
  };
}
