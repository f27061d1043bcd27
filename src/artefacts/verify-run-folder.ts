import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { StoredArtefact } from '../records/run.ts';
import { readChunks } from './files.ts';
import { RUN_MANIFEST } from './layout.ts';
import { folderFiles } from './run-files.ts';
import { parseRunManifest } from './run-manifest.ts';

export interface FileProblem {
  readonly kind: 'missing' | 'damaged';
  readonly file: string;
}

/** A log that was imported alone is kept under this name, whatever it was called. */
const KEPT_LOG = 'stdout.log';

/** What of a run's files is not there, or has not the content that the store knows by its hash. */
export async function verifyRunFolder(
  folder: string,
  stored: readonly StoredArtefact[],
  isQuick: boolean,
): Promise<FileProblem[]> {
  const files = await folderFiles(folder);
  const [only] = stored;
  const problems: FileProblem[] = [];
  for (const artefact of stored) {
    const file = files.get(artefact.name) ?? (only === artefact ? files.get(KEPT_LOG) : undefined);
    if (file === undefined) problems.push({ kind: 'missing', file: artefact.name });
    else if (!isQuick && !(await hasContent(join(folder, file), artefact))) {
      problems.push({ kind: 'damaged', file });
    }
  }
  if (!existsSync(join(folder, RUN_MANIFEST))) {
    problems.push({ kind: 'missing', file: RUN_MANIFEST });
  } else if (!(await isManifest(join(folder, RUN_MANIFEST)))) {
    problems.push({ kind: 'damaged', file: RUN_MANIFEST });
  }
  return problems;
}

/** A log that came cut off is stored by what could be read of it: an archive that ends early is no damage by itself. */
async function hasContent(path: string, { sha256, bytes }: StoredArtefact): Promise<boolean> {
  const hash = createHash('sha256');
  let read = 0;
  try {
    for await (const chunk of readChunks(path)) {
      hash.update(chunk);
      read += chunk.length;
    }
  } catch {
    // What was read so far says whether it is as it was.
  }
  return read === bytes && hash.digest('hex') === sha256;
}

async function isManifest(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return parseRunManifest(text).kind === 'read';
}
