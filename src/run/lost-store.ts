import { existsSync } from 'node:fs';

import { sweepManifestPath } from '../artefacts/layout.ts';
import { StoreLostError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { StoreLoss } from '../store/file/store-file.ts';
import type { SweepContext } from './sweep-context.ts';

/**
 * Looks whether what is written into the store will be found there. Nothing of a sweep is lost with it: its runs lie in
 * their folders.
 * @throws StoreLostError
 */
export function requireStore(context: Pick<SweepContext, 'artefactsFolder' | 'db' | 'storeFile' | 'sweep'>): void {
  const { artefactsFolder, db, storeFile, sweep } = context;
  const loss = storeFile.loss();
  if (loss === null) return;
  if (loss.kind === 'deleted' || loss.kind === 'replaced') storeFile.dropWal();
  const store = printable(db.$client.name);
  // The folder itself comes again with the next attempt.
  if (!existsSync(sweepManifestPath(artefactsFolder, sweep.sweepId))) {
    throw new StoreLostError(
      `${store}: ${loss.what} while bench wrote into it, and the artefacts of this sweep are gone, too`,
    );
  }
  const goOn = `\`bench run --resume ${sweep.sweepId.slice(0, 8)}\``;
  throw new StoreLostError(
    `${store}: ${loss.what} while bench wrote into it; no run is lost: ${adviceFor(loss, store, printable(artefactsFolder))}, then go on with ${goOn}`,
  );
}

function adviceFor({ kind }: StoreLoss, store: string, artefacts: string): string {
  if (kind === 'forbidden') return `allow it again (chmod u+rw ${store})`;
  const again = `bring them back with \`bench import ${artefacts} --db ${store}\``;
  return kind === 'deleted' ? again : `move that file away and ${again}`;
}
