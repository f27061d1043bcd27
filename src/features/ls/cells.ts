import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { cellsJson, cellsText } from '../show/index.ts';
import { allCells } from '../../store/cells.ts';
import { cellNumbers } from '../../store/sweeps/overview.ts';
import { chooseCells } from '../../selection/choose-cells.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { CellsOptions } from './command.ts';

/** `bench cells`: the cells that the store knows. */
export function cells(options: CellsOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const found = chooseCells(allCells(store.db), options.filter);
    const numbers = cellNumbers(
      store.db,
      found.map(({ key }) => key),
    );
    const listed = found.map((cell) => ({
      cell,
      ...(numbers.get(cell.key) ?? { measured: 0, sweeps: 0, lastAt: null, provenances: [] }),
    }));
    if (options.json === true) io.out(`${jsonText(cellsJson(listed))}\n`);
    else if (listed.length === 0)
      io.out(`no cell is stored${options.filter === undefined ? '' : ' that the filter lets through'}\n`);
    else printLines(io, cellsText(listed, io.look));
    return EXIT_CODES.fine;
  });
}
