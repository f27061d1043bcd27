import { dirname, join } from 'node:path';

import { folderSize, sizeOf } from '../../files/folders.ts';
import { artefactsFolderOf, sweepFolderOf } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { InfoOptions } from './command.ts';
import type { InfoOutput } from './output.ts';
import { schemaTag } from '../../store/file/migrations.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { freeBytes, LEAST_KEPT_SWEEPS, prunableSweeps } from '../../store/prune.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { padEnd, wrapWords } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';

const PRUNE_DAYS = 90;
const DAY_MS = 86_400_000;

export function info(options: InfoOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    return printResult(io, options, await infoOf(store, io), infoText);
  });
}

async function infoOf({ db, path }: OpenStore, io: Io): Promise<InfoOutput> {
  const [artefacts, folder] = [artefactsFolderOf(path), dirname(path)];
  const before = new Date(io.now().getTime() - PRUNE_DAYS * DAY_MS).toISOString();
  const rule = { endedSince: before, sweepsOfSeries: LEAST_KEPT_SWEEPS, layers: false, artefacts: true };
  const prunable = { days: PRUNE_DAYS, sweeps: 0, sampleBytes: 0, artefactBytes: 0 };
  for (const { sampleBytes, sweepId } of prunableSweeps(db, rule)) {
    prunable.sweeps += 1;
    prunable.sampleBytes += sampleBytes;
    prunable.artefactBytes += (await folderSize(sweepFolderOf(artefacts, sweepId))).bytes;
  }
  const countOf = (table: string): number => Number(db.$client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
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
    rows: {
      sweeps: countOf('sweeps'),
      unfinishedSweeps: countOf(`sweeps WHERE state <> 'finished'`),
      runs: countOf('runs'),
      prunedRuns: countOf('pruned_runs'),
      cells: countOf('cells'),
      builds: countOf('builds'),
      samples: countOf('samples'),
      layerProfiles: countOf('layer_profiles'),
      accuracies: countOf('accuracy'),
      baselines: countOf('baselines'),
      openFindings: countOf(`findings WHERE state = 'open'`),
    },
    prunable,
  };
}

const LABEL_WIDTH = 11;

function infoText({ bytes, path, prunable, rows, storeSchema }: InfoOutput, { columns, style }: Look): string[] {
  const { artefacts, engines, file, free, variants, wal } = bytes;
  const sized = Object.entries({ store: file, 'its log': wal, artefacts, engines, variants });
  return [
    ['store', `${printable(path)}, schema ${storeSchema}`],
    ['size', `${sized.map(([name, size]) => `${name} ${formatBytes(size)}`).join(', ')}; ${formatBytes(free)} free`],
    ['sweeps', `${rows.sweeps}, ${rows.unfinishedSweeps} of them not finished; ${count(rows.cells, 'cell')}`],
    ['runs', `${rows.runs} with ${count(rows.builds, 'build')}, ${rows.prunedRuns} of them pruned`],
    ['kept', `samples of ${count(rows.samples, 'run')}, layers of ${rows.layerProfiles}`],
    ['said', `${count(rows.baselines, 'baseline')}, ${count(rows.openFindings, 'open finding')}`],
    [
      'prune',
      `--keep ${prunable.days}d would take ${formatBytes(prunable.sampleBytes)} of samples and up to ${formatBytes(prunable.artefactBytes)} of artefacts from ${count(prunable.sweeps, 'sweep')}`,
    ],
  ].flatMap(([label = '', text = '']) =>
    wrapWords(text, columns - LABEL_WIDTH).map(
      (line, index) => style.dim(padEnd(index === 0 ? label : '', LABEL_WIDTH)) + line,
    ),
  );
}
