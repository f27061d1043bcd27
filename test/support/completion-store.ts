import { join } from 'node:path';

import type { Sweep } from '../../src/records/sweep.ts';
import { saveSweep, setBaseline } from '../../src/store/sweeps/sweeps.ts';
import { openStore } from '../../src/store/file/open.ts';
import { ROOT } from './bench.ts';
import { simulatedCells, simulateNights, sweepOfNight } from './simulated-store.ts';

/** Names that would do something if a shell read them. */
export const HOSTILE_NAMES = [
  'a $(touch pwned)',
  'b`touch pwned`',
  'c; touch pwned',
  'd\'it is "so"',
  'e!! !$',
  'f > pwned',
  'g~ *?[x]{1,2}',
  'h\\back',
  'i&|#',
  'über straße',
] as const;

/** They are never offered: a line of its own, and what a terminal acts on. */
export const UNSHOWN_NAMES = ['y\ntouch pwned', 'z\u001b[31m'] as const;

/** A store with two nights of three cells, and baselines and branches of these names. */
export function completionStore(folder: string): string {
  const path = join(folder, 'bench.sqlite');
  simulateNights(path, { cells: simulatedCells(3), nights: 2, repeats: 1, value: () => 1, branch: 'main' });
  const store = openStore(path, join(ROOT, 'migrations'));
  const createdAt = '2026-01-01T00:00:00Z';
  for (const [index, name] of [...HOSTILE_NAMES, ...UNSHOWN_NAMES, 'v1.2'].entries()) {
    setBaseline(store.db, { name, sweepId: sweepOfNight(0), reason: null, createdAt });
    saveSweep(store.db, sweepOn(name, index), {});
  }
  store.close();
  return path;
}

function sweepOn(branch: string, index: number): Sweep {
  return {
    sweepId: index.toString(16).padStart(32, 'f'),
    source: 'run',
    name: null,
    matrix: 'nightly',
    provenance: 'simulated',
    recordingSet: null,
    state: 'finished',
    startedAt: '2025-01-01T00:00:00Z',
    finishedAt: '2025-01-01T00:10:00Z',
    seed: null,
    toolVersion: '0.1.0',
    trtexec: null,
    tensorrt: null,
    host: null,
    commit: null,
    branch,
    dirty: false,
  };
}
