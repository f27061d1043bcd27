import { type Dirent, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Folders of other programs, and those of bench's own output. */
const NOT_LOOKED_INTO = new Set(['node_modules', 'site-packages', 'variants', 'artefacts', '__pycache__']);
const MAX_DEPTH = 6;
const MAX_ENTRIES = 50_000;

/** ONNX files in a folder and below, nearest first, folders sorted by name. Links to folders are not followed. */
export function findOnnxFiles(folder: string) {
  const files: string[] = [];
  let level = [resolve(folder)];
  let seen = 0;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const place of level) {
      const entries = entriesOf(place);
      seen += entries.length;
      if (seen > MAX_ENTRIES) return { files, isCutOff: true };
      for (const entry of entries) {
        const path = join(place, entry.name);
        if (entry.isDirectory()) {
          if (!entry.name.startsWith('.') && !NOT_LOOKED_INTO.has(entry.name)) next.push(path);
        } else if (/\.onnx$/i.test(entry.name)) files.push(path);
      }
    }
    level = next;
  }
  return { files, isCutOff: level.length > 0 };
}

function entriesOf(folder: string): Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}
