import { cpSync } from 'node:fs';
import { join } from 'node:path';

import { bench, ROOT } from '../support/bench.ts';
import { normals, simulatedCells, simulateNights } from '../support/simulated-store.ts';

/** Of two engines of one model, tuned for other batches: the cell whose layers were recorded. Engines are named with their folder. */
export async function recordProfiles(folder: string): Promise<void> {
  cpSync(join(ROOT, 'matrices'), join(folder, 'matrices'), { recursive: true });
  for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
    await mustRun(['run', `matrices/${name}.yaml`, '--profile', '--filter', 'batch=8'], folder);
  }
}

const CELLS = 6;
const NIGHTS = 24;
const FIRST_SLOW_NIGHT = 20;

/**
 * Nights of made-up results, in which all that a gate tells of happens: a new driver, a cell in two states, FP8 that gets
 * slower, a cell that fails in the last night.
 */
export function simulateHistory(folder: string): void {
  const normal = normals(7);
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(CELLS),
    nights: NIGHTS,
    repeats: 4,
    driver: (night) => (night < 10 ? '580.1' : '580.2'),
    wallS: (cell) => 10 + cell,
    value: (cell, night, repeat) => {
      if (cell === 4 && night === NIGHTS - 1) return null;
      const isSlow = cell % 2 === 1 && night >= FIRST_SLOW_NIGHT;
      const isHigh = cell === 2 && (3 * night + repeat) % 4 === 0;
      const factor = (isSlow ? 1.06 + 0.02 * cell : 1) * (isHigh ? 1.04 : 1);
      return (0.5 + 0.3 * cell) * Math.exp(0.003 * normal()) * factor;
    },
  });
}

async function mustRun(args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await bench(args, { cwd });
  if (code !== 0) throw new Error(`bench ${args.join(' ')}: exit code ${code}: ${stderr}`);
}
