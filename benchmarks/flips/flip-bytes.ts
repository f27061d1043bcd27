import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';

import { openToVerify, verifyBlobs, verifyFile } from '../../src/store/verify/verify-rows.ts';
import { verifyChecksums } from '../../src/store/verify/verify-values.ts';
import { ROOT } from '../processes.ts';
import { answersOf } from './answers.ts';

const MIGRATIONS = join(ROOT, 'migrations');

export interface FlipReport {
  readonly flips: number;
  /** Flips after which some command, or some row, says something else than before. */
  readonly changed: number;
  /** Of those, the ones that `bench db verify` finds. */
  readonly found: number;
  /** Those that it does not find: where the byte is, and what changed. */
  readonly missed: readonly string[];
  /** Flips of bytes that say nothing, which it finds as well. */
  readonly foundUnchanged: number;
  /** How many of the flips that change an answer lie in pages of each table or index. */
  readonly changedByObject: ReadonlyMap<string, number>;
}

/** Changes one byte of a store after another, each in a fresh copy, and looks whether that is noticed. */
export async function flipBytes(
  store: string,
  folder: string,
  flips: number,
  random: () => number,
): Promise<FlipReport> {
  const bytes = readFileSync(store);
  const pages = pagesByObject(store);
  const before = await answersOf(copyOf(store, join(folder, 'before.sqlite')));
  const changedByObject = new Map<string, number>();
  const missed: string[] = [];
  let [changed, found, foundUnchanged] = [0, 0, 0];
  for (let flip = 0; flip < flips; flip += 1) {
    const place = drawPlace(bytes.length, pages, random);
    const path = join(folder, 'flipped.sqlite');
    const flipped = Buffer.from(bytes);
    flipped[place.at] = (flipped[place.at] ?? 0) ^ (1 + Math.floor(255 * random()));
    for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
    writeFileSync(path, flipped);
    const isFound = await isDamageFound(path);
    const after = await answersOf(path);
    const different = [...before.keys()].filter((name) => after.get(name) !== before.get(name));
    if (different.length === 0) {
      foundUnchanged += isFound ? 1 : 0;
      continue;
    }
    changed += 1;
    changedByObject.set(place.object, (changedByObject.get(place.object) ?? 0) + 1);
    if (isFound) found += 1;
    else missed.push(`byte ${place.at} of ${place.object}: ${different.join(', ')}`);
  }
  return { flips, changed, found, missed, foundUnchanged, changedByObject };
}

function copyOf(from: string, to: string): string {
  copyFileSync(from, to);
  return to;
}

interface ObjectPages {
  readonly object: string;
  readonly pages: readonly { readonly at: number; readonly bytes: number }[];
}

/** Where the pages of each table and index lie, those of blobs too. */
function pagesByObject(store: string): ObjectPages[] {
  const db = new Database(store, { readonly: true });
  const rows = db
    .prepare<[], { object: string; at: number; bytes: number }>(
      `SELECT name AS object, pgoffset AS at, pgsize AS bytes FROM dbstat WHERE NOT aggregate OR aggregate IS NULL`,
    )
    .all();
  db.close();
  return [...Map.groupBy(rows, ({ object }) => object)].map(([object, pages]) => ({ object, pages }));
}

/** Half of them anywhere in the file; half spread over the tables and indexes, however small they are. */
function drawPlace(
  size: number,
  objects: readonly ObjectPages[],
  random: () => number,
): { at: number; object: string } {
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(random() * items.length)];
  if (random() < 0.5) {
    const at = Math.floor(random() * size);
    const isHere = (page: { at: number; bytes: number }): boolean => at >= page.at && at < page.at + page.bytes;
    const object = objects.find(({ pages }) => pages.some(isHere))?.object ?? 'no table';
    return { at, object };
  }
  const { object, pages } = pick(objects) ?? { object: 'no table', pages: [] };
  const { at, bytes } = pick(pages) ?? { at: 0, bytes: size };
  return { at: at + Math.floor(random() * bytes), object };
}

/** What `bench db verify` looks at in the file itself. */
async function isDamageFound(path: string): Promise<boolean> {
  try {
    const opened = openToVerify(path, MIGRATIONS);
    if (opened.kind !== 'opened') return true;
    try {
      const { signal } = new AbortController();
      if (verifyFile(opened, path, MIGRATIONS, false).length > 0) return true;
      if ((await verifyChecksums(opened, path, () => {}, signal)).length > 0) return true;
      return (await verifyBlobs(opened, path, () => {}, signal)).length > 0;
    } finally {
      opened.close();
    }
  } catch {
    // One line that says what is wrong, and an exit code.
    return true;
  }
}
