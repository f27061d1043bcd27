import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { CellsOutput, SweepsOutput } from './output.ts';
import { allCells } from '../../store/cells.ts';
import { cellNumbers, sweepNumbers } from '../../store/sweeps/overview.ts';
import { chooseCells } from '../../selection/by-name.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { CellsOptions, SweepsOptions } from './command.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { type Sweep, type SweepState, AB_BRANCH } from '../../records/sweep.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import { countSweeps, listSweeps } from '../../store/sweeps/find-sweeps.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { describeCommit } from '../../text/commit-label.ts';

export function listCells(options: CellsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = chooseCells(allCells(store.db), options.filter);
    const numbers = cellNumbers(
      store.db,
      found.map(({ key }) => key),
    );
    const listed = found.map((cell) => ({
      ...cell,
      label: cellLabel(cell),
      ...(numbers.get(cell.key) ?? { measured: 0, sweeps: 0, lastAt: null, provenances: [] }),
    }));
    printResult<CellsOutput>(io, options, { schemaVersion: 1, cells: listed }, (output, look) =>
      cellsText(output, options.filter !== undefined, look),
    );
    return EXIT_CODES.fine;
  });
}

/** An unfinished sweep without a process was interrupted. */
function stateOf({ state, sweepId }: Sweep, artefactsFolder: string): SweepState {
  return state === 'running' && sweepLockHolder(artefactsFolder, sweepId) === null ? 'interrupted' : state;
}

const NO_RUNS = { cells: 0, runs: 0, measured: 0, builds: 0, built: 0, flagged: 0 };

export function listStoredSweeps(options: SweepsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = listSweeps(store.db, options.last);
    const numbers = sweepNumbers(
      store.db,
      found.map(({ sweepId }) => sweepId),
    );
    const artefacts = artefactsFolderOf(store.path);
    const listed = found.map((sweep) => ({
      ...sweep,
      state: stateOf(sweep, artefacts),
      ...(numbers.get(sweep.sweepId) ?? NO_RUNS),
    }));
    printResult<SweepsOutput>(io, options, { schemaVersion: 1, sweeps: listed }, (output, look) =>
      sweepsText(output, countSweeps(store.db), look),
    );
    return EXIT_CODES.fine;
  });
}

type ListedSweep = SweepsOutput['sweeps'][number];

function sweepsText({ sweeps }: SweepsOutput, stored: number, look: Look): string[] {
  if (sweeps.length === 0) return ['no sweep is stored: `bench run` or `bench import` something'];
  const right = 'right' as const;
  const table = renderTable<ListedSweep>(
    [
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
      { header: 'started', text: ({ startedAt }) => (startedAt ?? '').slice(0, 16).replace('T', ' '), dropRank: 6 },
      { header: 'matrix', text: (row) => printable(matrixText(row)), minWidth: 8, dropRank: 5 },
      { header: 'commit', text: (row) => describeCommit(row), minWidth: 8, dropRank: 1 },
      { header: 'provenance', text: provenanceText, minWidth: 18 },
      { header: 'TensorRT', text: ({ tensorrt }) => tensorrt ?? '', dropRank: 4 },
      { header: 'cells', text: (row) => String(row.cells), align: right, dropRank: 3 },
      { header: 'runs', text: (row) => `${row.measured}/${row.runs}`, align: right },
      {
        header: 'builds',
        text: ({ built, builds }) => (builds === 0 ? '' : `${built}/${builds}`),
        align: right,
        dropRank: 7,
      },
      {
        header: 'flagged',
        text: ({ flagged }) => (flagged === 0 ? '' : String(flagged)),
        style: () => look.style.warn,
        align: right,
        dropRank: 2,
      },
      { header: 'state', text: ({ state }) => (state === 'finished' ? '' : state), style: () => look.style.warn },
    ],
    sweeps,
    look,
  );
  const more = `${sweeps.length} of ${stored} sweeps: --last ${stored} shows all`;
  return sweeps.length < stored ? [...table, look.style.dim(more)] : table;
}

/** Experiments are found by name. */
function matrixText({ branch, matrix, name }: ListedSweep): string {
  return branch === AB_BRANCH ? `${matrix}: ${name}` : (matrix ?? name ?? '');
}

function provenanceText({ provenance, recordingSet }: ListedSweep): string {
  return recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`;
}

function cellsText({ cells }: CellsOutput, isFiltered: boolean, look: Look): string[] {
  if (cells.length === 0) return [`no cell is stored${isFiltered ? ' that the filter lets through' : ''}`];
  const right = 'right' as const;
  const { columns, caption } = cellColumns(cells, (cell) => cell);
  const table = renderTable<CellsOutput['cells'][number]>(
    [
      { header: 'cell', text: ({ key }) => key.slice(0, 8), isIdentity: true },
      ...columns,
      { header: 'sweeps', text: (row) => String(row.sweeps), align: right, dropRank: 1 },
      { header: 'runs', text: (row) => String(row.measured), align: right, dropRank: 3 },
      { header: 'provenance', text: ({ provenances }) => provenances.join(', '), minWidth: 6 },
      { header: 'last', text: ({ lastAt }) => (lastAt ?? '').slice(0, 10), dropRank: 2 },
    ],
    cells,
    look,
  );
  return [...table, ...captionLines(caption, look)];
}
