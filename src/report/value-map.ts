import type { Cell } from '../domain/cell.ts';
import { heatMaps, shadeOf } from './heat-map.ts';
import type { Look } from './look.ts';
import { formatNumber } from './numbers.ts';
import { wrapWords } from './text-width.ts';

interface TimedCell {
  readonly cell: Cell;
  /** Null without a measured run. */
  readonly gpuComputeMs: number | null;
}

/** The times of all cells by precision and batch: the darker, the longer. */
export function valueMap(cells: readonly TimedCell[], look: Look): string[] {
  const values = cells.flatMap(({ gpuComputeMs }) => gpuComputeMs ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const shareOf = (ms: number): number =>
    high > low ? Math.log(ms / low) / Math.log(high / low) : 0;
  const tiles = cells.map(({ cell, gpuComputeMs }) => ({
    cell,
    sign: gpuComputeMs === null ? '✗' : shadeOf(shareOf(gpuComputeMs)),
    number: `${cell.streams > 1 && gpuComputeMs !== null ? '~' : ''}${formatNumber(gpuComputeMs)}`,
    style: gpuComputeMs === null ? look.style.bad : look.style.accent,
  }));
  const scale =
    values.length === 0
      ? ''
      : `░ from ${formatNumber(low)} to █ ${formatNumber(high)} ms, in steps of the same ratio`;
  const missing = values.length < cells.length ? '✗ without a measured run' : '';
  const legend = ['median GPU compute time, ms', scale, missing].filter((part) => part !== '');
  return [
    ...heatMaps(tiles, look),
    ...wrapWords(legend.join(': ').replace(': ✗', '; ✗'), look.columns).map(look.style.dim),
  ];
}
