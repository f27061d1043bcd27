import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'vitest';

import { bench, ROOT, sharedFolder, temporaryStore } from './bench.ts';
import { type SimulatedNights, simulateNights, writeEmptyStore } from './simulated-store.ts';

const PAIR = ['run', join(ROOT, 'matrices', 'quickstart-pair.yaml')];
const OTHER_PAIR = ['run', join(ROOT, 'matrices', 'quickstart-pair-opt32.yaml')];
const NIGHT = ['run', join(ROOT, 'matrices', 'quickstart.yaml')];

/** Stores of recorded sweeps, by what lies in them, oldest first. */
const STORES = {
  /** Two cells of one engine, five runs each. */
  pair: [PAIR],
  /** A sweep like that of `pair`, with ids of its own. */
  samePair: [PAIR],
  /** Two engines of one model, tuned for other batches. */
  pairs: [PAIR, OTHER_PAIR],
  /** 24 cells, a run each. */
  night: [NIGHT],
  /** The same 24 cells in two nights. */
  nights: [
    [...NIGHT, '--replay', 'night1'],
    [...NIGHT, '--replay', 'night2'],
  ],
} as const;

/**
 * Puts the store and its artefacts into a folder. The sweeps are run once for all tests: what is stored of where and when
 * that was is no test's own.
 */
export async function storeIn(folder: string, name: keyof typeof STORES): Promise<string> {
  const made = join(tmpdir(), name);
  if (!existsSync(made)) await make(made, STORES[name]);
  cpSync(made, folder, { recursive: true });
  return join(folder, 'bench.sqlite');
}

/** The same in a folder of its own, for all tests of a file that only read it. */
export const sharedStore = async (name: keyof typeof STORES): Promise<string> => storeIn(sharedFolder(), name);

/** In no repository: what is checked out here is no test's own. Two workers may make the same one at the same time: the first that is done counts. */
async function make(place: string, commands: readonly (readonly string[])[]): Promise<void> {
  const folder = mkdtempSync(`${place}-`);
  for (const args of commands) {
    const { code, stderr } = await bench([...args, '--db', join(folder, 'bench.sqlite')], { cwd: folder });
    if (code !== 0) throw new Error(`bench ${args.join(' ')}: exit code ${code}: ${stderr}`);
  }
  try {
    renameSync(folder, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    rmSync(folder, { recursive: true });
  }
}

/** A store of made-up nights, in a folder of its own. */
export function simulatedStore(simulated: SimulatedNights): string {
  const { db } = temporaryStore();
  simulateNights(db, simulated);
  return db;
}

/** The same, of what `bench import` takes. */
export async function importedStore(...args: readonly string[]): Promise<string> {
  const { db } = temporaryStore();
  writeEmptyStore(db);
  expect(await bench(['import', ...args, '--db', db])).toMatchObject({ code: 0 });
  return db;
}
