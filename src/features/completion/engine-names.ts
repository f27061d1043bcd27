import { dirname, join } from 'node:path';

import { EngineCache } from '../../engines/engine-cache.ts';
import { readEngineFolder } from '../../engines/engine-folder.ts';
import { engineLabel } from '../../records/engine.ts';
import { shownName } from '../engines/index.ts';
import type { Candidate } from './wanted.ts';

/** The engines beside a store; none when their folder cannot be read. */
export async function engineNames(store: string): Promise<Candidate[]> {
  try {
    const cache = new EngineCache(join(dirname(store), 'engines'));
    const { engines } = await readEngineFolder(cache, { hashes: false });
    return engines.map((engine) => ({ value: shownName(engine.name), meaning: engineLabel(engine) }));
  } catch {
    return [];
  }
}
