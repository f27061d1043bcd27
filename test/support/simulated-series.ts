import type { CellSeries } from '../../src/features/noise/cell-series.ts';
import { simulatedCells } from './simulated-store.ts';

export interface SimulatedSeries {
  readonly cells: number;
  readonly sweeps: number;
  readonly repeats: number;
  readonly value: (cell: number, sweep: number, repeat: number) => number;
  readonly origin?: (sweep: number) => string | null;
}

/** Runs of made-up cells, sweep by sweep, without a store. */
export function simulatedSeries(simulated: SimulatedSeries): CellSeries[] {
  const { cells, sweeps, repeats, value, origin = () => 'engine' } = simulated;
  return simulatedCells(cells).map((cell, index) => ({
    cell,
    metric: 'gpuComputeMs',
    sweeps: Array.from({ length: sweeps }, (_, place) => ({
      place,
      values: Array.from({ length: repeats }, (_run, repeat) => value(index, place, repeat)),
      origin: origin(place),
    })),
  }));
}
