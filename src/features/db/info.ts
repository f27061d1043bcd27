import { dirname, join } from 'node:path';

import { folderSize, sizeOf } from '../../artefacts/folders.ts';
import { artefactsFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { freeBytes, LEAST_KEPT_SWEEPS, type PrunableSweep, prunableSweeps } from '../../store/prune.ts';
import { infoText } from './info-text.ts';
import type { InfoOutput } from './output.ts';
import { schemaTag } from '../../store/file/migrations.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { storeFacts } from '../../store/store-facts.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import type { InfoOptions } from './command.ts';

/** What `db info` asks of what could go. */
const PRUNE_DAYS = 90;
const DAY_MS = 86_400_000;

/** `bench db info`: what is in the store, and how large it is. */
export function info(options: InfoOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    printResult(io, options, await infoOf(store, io), infoText);
    return EXIT_CODES.fine;
  });
}

async function infoOf({ db, path }: OpenStore, io: Io): Promise<InfoOutput> {
  const [artefacts, folder] = [artefactsFolderOf(path), dirname(path)];
  const before = new Date(io.now().getTime() - PRUNE_DAYS * DAY_MS).toISOString();
  const old = prunableSweeps(db, { endedSince: before, sweepsOfSeries: LEAST_KEPT_SWEEPS, layers: false });
  return {
    schemaVersion: 1,
    path,
    storeSchema: schemaTag(migrationsFolder()),
    bytes: {
      file: sizeOf(path),
      wal: sizeOf(`${path}-wal`),
      free: freeBytes(db),
      artefacts: (await folderSize(artefacts)).bytes,
      engines: (await folderSize(join(folder, 'engines'))).bytes,
      variants: (await folderSize(join(folder, 'variants'))).bytes,
    },
    ...storeFacts(db),
    prunable: { days: PRUNE_DAYS, ...(await sum(old, artefacts)) },
  };
}

async function sum(sweeps: readonly PrunableSweep[], artefacts: string): Promise<Omit<InfoOutput['prunable'], 'days'>> {
  const total = { sweeps: sweeps.length, sampleBytes: 0, artefactBytes: 0 };
  for (const { sweepId, sampleBytes } of sweeps) {
    total.sampleBytes += sampleBytes;
    total.artefactBytes += (await folderSize(sweepFolderOf(artefacts, sweepId))).bytes;
  }
  return total;
}
