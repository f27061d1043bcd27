import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { CellsOutput } from './output.ts';
import { cellsText } from './text.ts';
import { allCells } from '../../store/cells.ts';
import { cellNumbers } from '../../store/sweeps/overview.ts';
import { chooseCells } from '../../selection/choose-cells.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { withStore } from '../../cli/with-store.ts';
import type { CellsOptions } from './command.ts';

/** `bench ls cells`: the cells that the store knows. */
export function cells(options: CellsOptions, io: Io): Promise<ExitCode> {
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
