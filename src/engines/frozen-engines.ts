import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { ENGINE_NAME } from './engine-note.ts';
import { namesIn } from '../artefacts/names-and-sizes.ts';
import { writeAtomically } from '../artefacts/files.ts';

const frozenSchema = z.object({
  schemaVersion: z.literal(1),
  /** Of the engine's files. */
  name: z.string().regex(ENGINE_NAME),
  buildId: z.string(),
  sha256: z.string(),
  since: z.string(),
});

/** Which engine stands for a build definition, whatever else changes. */
export type FrozenEngine = z.infer<typeof frozenSchema>;

const FROZEN = 'frozen-';

export class FrozenEngines {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** @param definition hash of the model's name, its precision and its build flags */
  find(definition: string): FrozenEngine | null {
    return readFrozen(this.pathOf(definition));
  }

  async freeze(definition: string, engine: Omit<FrozenEngine, 'schemaVersion'>): Promise<void> {
    const text = JSON.stringify({ schemaVersion: 1, ...engine }, null, 1);
    await writeAtomically(this.pathOf(definition), `${text}\n`);
  }

  all(): FrozenEngine[] {
    return this.entries().map(({ frozen }) => frozen);
  }

  /** From now on nothing is frozen to this engine. */
  async thaw(name: string): Promise<number> {
    const found = this.entries().filter(({ frozen }) => frozen.name === name);
    for (const { path } of found) await rm(path, { force: true });
    return found.length;
  }

  private entries(): { readonly path: string; readonly frozen: FrozenEngine }[] {
    return namesIn(this.folder)
      .filter((entry) => entry.startsWith(FROZEN) && entry.endsWith('.json'))
      .flatMap((entry) => {
        const path = join(this.folder, entry);
        const frozen = readFrozen(path);
        return frozen === null ? [] : [{ path, frozen }];
      });
  }

  private pathOf(definition: string): string {
    return join(this.folder, `${FROZEN}${definition}.json`);
  }
}

function readFrozen(path: string): FrozenEngine | null {
  try {
    return frozenSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}
