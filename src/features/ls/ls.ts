import type { ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { CellsOutput, SweepsOutput } from './output.ts';
import { allCells } from '../../store/cells.ts';
import { cellNumbers, NO_SWEEP_NUMBERS, sweepNumbers, withReused } from '../../store/sweeps/overview.ts';
import { chooseCells } from '../../selection/by-name.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { CellsOptions, SweepsOptions } from './command.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { type Sweep, type SweepState, AB_BRANCH } from '../../records/sweep.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { countSweeps, listSweeps } from '../../store/sweeps/find-sweeps.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { runsAndBuilds } from '../../terminal/numbers.ts';
import { renderTable, numberColumn, textColumn } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { describeCommit } from '../../text/commit-label.ts';

export function listCells(options: CellsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = chooseCells(store.db, allCells(store.db), options.filter);
    const keys = found.map(({ key }) => key);
    const numbers = cellNumbers(store.db, keys);
    const listed = found.map((cell) => ({
      ...cell,
      label: cellLabel(cell),
      ...(numbers.get(cell.key) ?? { measured: 0, sweeps: 0, lastAt: null, provenances: [] }),
    }));
    return printResult<CellsOutput>(io, options, { schemaVersion: 1, cells: listed }, (output, look) =>
      cellsText(output, options.filter !== undefined, look),
    );
  });
}

/** An unfinished sweep without a process was interrupted. */
function stateOf({ state, sweepId }: Sweep, artefactsFolder: string): SweepState {
  return state === 'running' && sweepLockHolder(artefactsFolder, sweepId) === null ? 'interrupted' : state;
}

export function listStoredSweeps(options: SweepsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = listSweeps(store.db, options.last);
    const ids = found.map(({ sweepId }) => sweepId);
    const numbers = sweepNumbers(store.db, ids);
    const artefacts = artefactsFolderOf(store.path);
    const listed = found.map((sweep) => ({
      ...sweep,
      state: stateOf(sweep, artefacts),
      ...(numbers.get(sweep.sweepId) ?? NO_SWEEP_NUMBERS),
    }));
    return printResult<SweepsOutput>(io, options, { schemaVersion: 1, sweeps: listed }, (output, look) =>
      sweepsText(output, countSweeps(store.db), plannedRuns(store.db, listed), look),
    );
  });
}

type ListedSweep = SweepsOutput['sweeps'][number];

/** Planned runs of unfinished sweeps. */
function plannedRuns(db: StoreDatabase, sweeps: readonly Sweep[]): ReadonlyMap<SweepId, number> {
  const unfinished = sweeps.filter(({ state }) => state !== 'finished');
  return new Map(
    unfinished.flatMap(({ sweepId }): [SweepId, number][] => {
      const stored = readStoredPlan(planOf(db, sweepId));
      return stored === null ? [] : [[sweepId, stored.plan.runs.length]];
    }),
  );
}

function sweepsText(
  { sweeps }: SweepsOutput,
  stored: number,
  planned: ReadonlyMap<SweepId, number>,
  look: Look,
): string[] {
  if (sweeps.length === 0) return ['no sweep is stored: `bench run` or `bench import` something'];
  const table = renderTable<ListedSweep>(
    [
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8), isIdentity: true },
      textColumn('started', ({ startedAt }) => (startedAt ?? '').slice(0, 16).replace('T', ' '), 1, {
        isIdentity: true,
      }),
      { header: 'matrix', text: (row) => printable(matrixText(row)), minWidth: 8, isIdentity: true },
      { header: 'commit', text: (row) => describeCommit(row), minWidth: 8, dropRank: 6 },
      { header: 'provenance', text: provenanceText, minWidth: 10 },
      { header: 'TensorRT', text: ({ tensorrt }) => tensorrt ?? '', dropRank: 9 },
      numberColumn('cells', (row) => String(row.cells), 8),
      textColumn(
        'measured',
        (row) => runsAndBuilds({ ...withReused(row), runs: planned.get(row.sweepId) ?? row.runs }),
        5,
      ),
      numberColumn('flagged', ({ flagged }) => (flagged === 0 ? '' : String(flagged)), 7, {
        style: () => look.style.warn,
      }),
      { header: 'state', text: ({ state }) => (state === 'finished' ? '' : state), style: () => look.style.warn },
    ],
    sweeps,
    look,
  );
  const more = `${sweeps.length} of ${stored} sweeps: --last ${stored} shows all`;
  return sweeps.length < stored ? [...table, look.style.dim(more)] : table;
}

/** Experiments are known by name rather than by matrix. */
function matrixText({ branch, matrix, name }: ListedSweep): string {
  return branch === AB_BRANCH ? `${matrix}: ${name}` : (matrix ?? name ?? '');
}

function provenanceText({ provenance, recordingSet }: ListedSweep): string {
  return recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`;
}

function cellsText({ cells }: CellsOutput, isFiltered: boolean, look: Look): string[] {
  if (cells.length === 0) return [`no cell is stored${isFiltered ? ' that the filter lets through' : ''}`];
  const { columns, caption } = cellColumns(cells, (cell) => cell);
  const table = renderTable<CellsOutput['cells'][number]>(
    [
      { header: 'cell', text: ({ key }) => key.slice(0, 8), isIdentity: true },
      ...columns,
      numberColumn('sweeps', (row) => String(row.sweeps), 1),
      numberColumn('runs', (row) => String(row.measured), 3),
      { header: 'provenance', text: ({ provenances }) => provenances.join(', '), minWidth: 6 },
      { header: 'last', text: ({ lastAt }) => (lastAt ?? '').slice(0, 10), dropRank: 2 },
    ],
    cells,
    look,
  );
  return [...table, ...captionLines(caption, look)];
}
