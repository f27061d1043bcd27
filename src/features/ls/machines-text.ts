import { LEAST_TWINS } from '../../judge/fleet.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import { SWEEPS_EACH } from '../../selection/fleet.ts';
import { type Look, plain } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { estimateWords } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import type { MachinesOutput } from './output.ts';

type ListedMachine = MachinesOutput['machines'][number];

/**
 * @param cells what is shown by GPU model in place of the machines; null for the machines
 * @param isFiltered whether only some cells were asked for
 */
export function machinesText(
  output: MachinesOutput,
  cells: ReadonlyMap<string, KeyedCell> | null,
  isFiltered: boolean,
  look: Look,
): string[] {
  const { headlines, machines } = output;
  if (machines.length === 0) {
    const what = isFiltered ? 'no run that the filter lets through' : 'no run';
    return wrapWords(`${what} names its GPU and its machine: \`bench run\` stores both`, look.columns);
  }
  const head =
    headlines.length === 0
      ? wrapHanging(calmText(machines), look.columns, 2).map(look.style.strong)
      : headlines.flatMap((line) => wrapHanging(printable(line), look.columns, 2)).map(look.style.bad);
  return [...head, '', ...(cells === null ? machineTable(output, look) : gpuTable(output, cells, look))];
}

function calmText(machines: readonly ListedMachine[]): string {
  const models = new Set(machines.map(({ gpuName }) => gpuName)).size;
  const what = `${count(machines.length, 'machine')}, ${count(models, 'GPU model')}`;
  const judged = machines.filter(({ standing }) => standing !== null).length;
  const few = `a machine needs ${LEAST_TWINS} twins: the same GPU model, cells, TensorRT and clocks`;
  if (judged === 0) return `${what}: none can be judged; ${few}`;
  const rest = judged === machines.length ? '' : `; ${machines.length - judged} not judged: ${few}`;
  return `${what}: none differs from its twins by more than they do from each other${rest}`;
}

function machineTable({ machines, provenance }: MachinesOutput, look: Look): string[] {
  const right = 'right' as const;
  const table = renderTable<ListedMachine>(
    [
      { header: 'machine', text: ({ name }) => printable(name), minWidth: 10, isIdentity: true },
      { header: 'GPU', text: ({ gpuName }) => printable(gpuName), minWidth: 10, isIdentity: true },
      {
        header: 'to twins',
        text: ({ changePercent }) => (changePercent === null ? '' : formatPercent(changePercent)),
        style: ({ standing }) =>
          standing === 'slower' ? look.style.bad : standing === 'faster' ? look.style.good : plain,
        align: right,
      },
      {
        header: 'slower in',
        text: ({ cells, slowerCells }) => (cells === 0 ? '' : `${slowerCells} of ${count(cells, 'cell')}`),
        align: right,
        dropRank: 1,
      },
      { header: 'twins', text: ({ twins }) => String(twins), align: right, dropRank: 2 },
      { header: 'TensorRT', text: ({ tensorrt }) => printable(tensorrt ?? ''), dropRank: 4 },
      { header: 'driver', text: ({ driver }) => printable(driver ?? ''), dropRank: 5 },
      { header: 'sweeps', text: ({ sweeps }) => String(sweeps), align: right, dropRank: 7 },
      {
        header: 'runs',
        text: ({ measured, others }) => `${measured}${others === 0 ? '' : ` of ${measured + others}`}`,
        align: right,
        dropRank: 6,
      },
      { header: 'last', text: ({ lastAt }) => (lastAt ?? '').slice(0, 10), dropRank: 3 },
    ],
    machines,
    look,
  );
  const legend = `${provenance ?? ''} runs of the newest ${SWEEPS_EACH} sweeps of each machine; to twins: median over the cells, + is slower`;
  return [...table, ...wrapHanging(legend, look.columns, 2).map(look.style.dim)];
}

type GpuRow = MachinesOutput['cells'][number] & { readonly cell: KeyedCell };

function gpuTable({ cells }: MachinesOutput, known: ReadonlyMap<string, KeyedCell>, look: Look): string[] {
  const rows = withCells(cells, known);
  const names = [...new Set(cells.flatMap(({ gpus }) => gpus.map(({ gpuName }) => gpuName)))].toSorted();
  const columns = names.map((gpuName, place): Column<GpuRow> => ({
    header: printable(gpuName.replace(/^NVIDIA /, '')),
    text: ({ gpus, unit }) => {
      const own = gpus.find((gpu) => gpu.gpuName === gpuName);
      if (own === undefined) return '–';
      const several = own.machines === 1 ? '' : ` ×${own.machines}`;
      return `${formatNumber(own.value)} ${printable(unit)}${several}`;
    },
    align: 'right',
    // Where there is no room for all, the first ones are left.
    dropRank: place,
  }));
  const isShared = cells.some(({ gpus }) => gpus.some(({ machines }) => machines > 1));
  const legend = `${estimateWords(cells.map(({ metric }) => metric))}${isShared ? '; ×N: of N machines their median' : ''}`;
  return [...cellTable(rows, columns, look), ...wrapHanging(legend, look.columns, 2).map(look.style.dim)];
}
