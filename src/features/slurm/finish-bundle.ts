import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { isId } from '../../records/scalars.ts';
import { BUNDLE_MANIFEST, BUNDLE_RUNS, type BundleFile, type BundleManifest } from './bundle.ts';
import { hashFile } from './hash-file.ts';

/**
 * Makes a bundle of the work of one attempt: hashes everything, brings it to disk, and gives it its name by one rename.
 * @param work private folder of the attempt, with its artefacts
 * @returns false when another attempt's bundle was there first
 */
export async function finishBundle(
  work: string,
  target: string,
  about: Omit<BundleManifest, 'runs' | 'schemaVersion'>,
): Promise<boolean> {
  const bundle = join(work, 'bundle');
  const runsFolder = join(bundle, BUNDLE_RUNS);
  await mkdir(bundle, { recursive: true });
  await rename(join(work, 'artefacts', about.sweepId), runsFolder);
  for (const name of await readdir(runsFolder)) {
    // The sweep as this attempt saw it: the whole one is the collector's.
    if (!isId(name)) await rm(join(runsFolder, name), { recursive: true, force: true });
  }
  const runs: BundleManifest['runs'] = [];
  for (const runId of (await readdir(runsFolder)).toSorted()) {
    runs.push({ runId, files: await sealedFiles(join(runsFolder, runId)) });
  }
  await syncFolder(runsFolder);
  const manifest: BundleManifest = { schemaVersion: 1, ...about, runs };
  const file = await open(join(bundle, BUNDLE_MANIFEST), 'w');
  try {
    await file.writeFile(`${JSON.stringify(manifest, null, 1)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(bundle);
  try {
    await rename(bundle, target);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
  await syncFolder(join(target, '..'));
  return true;
}

async function sealedFiles(folder: string): Promise<BundleFile[]> {
  const files: BundleFile[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const file = await open(join(folder, name), 'r');
    try {
      const { size } = await file.stat();
      const { bytes, sha256 } = await hashFile(file, size);
      files.push({ name, bytes, sha256 });
      await file.sync();
    } finally {
      await file.close();
    }
  }
  await syncFolder(folder);
  return files;
}

/** Names are on disk only when their folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch {
    // Not every network file system can do that.
  } finally {
    await folder.close();
  }
}
