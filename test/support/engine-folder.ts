import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { engineName, engineNoteSchema, type EngineNote } from '../../src/engines/engine-index.ts';

export interface EngineOnDisk {
  readonly name: string;
  readonly note: EngineNote;
  readonly path: string;
  /** Whether the file has the hash that its note says. */
  readonly isWhole: boolean;
}

/** The engines beside a store, by their notes. */
export function enginesBeside(db: string): EngineOnDisk[] {
  const folder = join(db, '..', 'engines');
  if (!existsSync(join(folder, 'index.json'))) return [];
  const text = readFileSync(join(folder, 'index.json'), 'utf8');
  return Object.values(z.object({ links: z.record(z.string(), engineNoteSchema) }).parse(JSON.parse(text)).links)
    .map((note) => {
      const name = engineName(note);
      const path = join(folder, `${note.sha256}.plan`);
      const sha256 = existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : null;
      return { name, note, path, isWhole: sha256 === note.sha256 };
    })
    .toSorted((a, b) => a.note.number - b.note.number);
}

/** Endings of everything in the folder, each once. */
export function endingsBeside(db: string): string[] {
  const endings = readdirSync(join(db, '..', 'engines')).map((name) =>
    name
      .replace(/^[0-9a-f]{64}/, 'SHA')
      .replace(/^[0-9a-f]{32}/, 'KEY')
      .replace(/^timing-[0-9a-f]{32}/, 'timing'),
  );
  return [...new Set(endings)].toSorted();
}

/** So many lines of a journal start a process with this flag. */
export function startsWith(journal: string, flag: string): number {
  if (!existsSync(journal)) return 0;
  return readFileSync(journal, 'utf8')
    .split('\n')
    .filter((line) => line.includes(flag)).length;
}
