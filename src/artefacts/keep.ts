import { copyFile, mkdir, readdir, readFile, unlink, writeFile, stat } from 'node:fs/promises';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, zstdCompress, zstdCompressSync } from 'node:zlib';
import { promisify } from 'node:util';

import { UsageError, errorCode } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { plainName, writeAtomically } from './files.ts';
import { isTemporary, RUN_MANIFEST } from './layout.ts';
import { refuseLink, putInPlace } from './folders.ts';
import { folderFiles } from './run-files.ts';
import { parseRunManifest, RUN_MANIFEST_VERSION, type RunManifest } from './run-manifest.ts';

const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const IN_MEMORY_BYTES = 8 << 20;
/** Below this size, a thread of the pool costs more than it saves. */
const SMALL_BYTES = 1 << 16;
const compress = promisify(zstdCompress);

export function manifestText(manifest: RunManifest): string {
  const stated = Object.fromEntries(Object.entries(manifest).filter(([, value]) => !isEmpty(value)));
  return `${JSON.stringify({ ...stated, schemaVersion: RUN_MANIFEST_VERSION }, null, 1)}\n`;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Compresses every file of a finished run in place except `run.json`. Idempotent. */
export async function compressFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (isTemporary(name)) await unlink(join(folder, name));
  }
  for (const [name, file] of await folderFiles(folder)) {
    if (name === RUN_MANIFEST || name !== file) continue;
    const path = join(folder, file);
    await putInPlace(`${path}.zst`, (temporary) => compressTo(path, temporary));
    await unlink(path);
  }
}

/**
 * Copies the files of a run into the artefacts, compressed, with a normalized `run.json`. The folder appears
 * atomically.
 * @param files target name by source path
 * @param isContentHash its id is the hash of its content, so that a folder of this id has the same content
 * @throws UsageError if another run has this id; a run may state its own id
 */
export async function keepRun(
  target: string,
  files: ReadonlyMap<string, string>,
  manifest: RunManifest,
  isContentHash: boolean,
): Promise<void> {
  refuseLink(dirname(target));
  try {
    await putInPlace(target, async (temporary) => {
      await mkdir(temporary, { recursive: true });
      for (const [source, name] of files) {
        const path = join(temporary, name);
        if (plainName(source) === source) await compressTo(source, `${path}.zst`);
        else await copyFile(source, path + source.slice(plainName(source).length));
      }
      await writeFile(join(temporary, RUN_MANIFEST), manifestText(manifest));
    });
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error;
    if (!existsSync(join(target, RUN_MANIFEST))) throw error;
    if (!isContentHash) await refuseOther(target, manifest);
  }
}

/** @throws UsageError if another run is stored in this folder */
export async function refuseOther(target: string, manifest: RunManifest): Promise<void> {
  const there = await readFile(join(target, RUN_MANIFEST), 'utf8').catch(() => null);
  if (there === null || startOf(there) === startOf(manifestText(manifest))) return;
  const artefacts = printable(dirname(dirname(target)));
  throw new UsageError(
    `${printable(target)}: is there already, of a run that the store does not know: \`bench import ${artefacts}\` into this store, then import again`,
  );
}

function startOf(text: string): string | null {
  const reading = parseRunManifest(text);
  if (reading.kind === 'faulty') return null;
  const { argv, startedAt, exitCode, wallS, logIndex } = reading.manifest;
  return JSON.stringify([argv, startedAt, exitCode, wallS, logIndex]);
}

/** Corrects the stated facts in `run.json` of a kept run. */
export async function restateKept(folder: string, stated: Partial<RunManifest>): Promise<void> {
  for (const own of [dirname(folder), folder]) refuseLink(own);
  const path = join(folder, RUN_MANIFEST);
  const text = await readFile(path, 'utf8').catch(() => '');
  const reading = parseRunManifest(text);
  if (reading.kind !== 'read') return;
  await writeAtomically(path, manifestText({ ...reading.manifest, ...stated }));
}

async function compressTo(source: string, target: string): Promise<void> {
  const { size } = await stat(source);
  if (size <= SMALL_BYTES) await writeFile(target, zstdCompressSync(await readFile(source), ZSTD));
  else if (size <= IN_MEMORY_BYTES) await writeFile(target, await compress(await readFile(source), ZSTD));
  else await pipeline(createReadStream(source), createZstdCompress(ZSTD), createWriteStream(target));
}
