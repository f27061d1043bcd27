import { dirname, join } from 'node:path';

import { folderSize, sizeOf } from '../../artefacts/folders.ts';
import { artefactsFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { InfoOptions } from './command.ts';
import type { InfoOutput } from './output.ts';
import { schemaTag } from '../../store/file/migrations.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { freeBytes, LEAST_KEPT_SWEEPS, type PrunableSweep, prunableSweeps } from '../../store/prune.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
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
  const old = prunableSweeps(db, rule);
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

const LABEL_WIDTH = 11;

function infoText(output: InfoOutput, look: Look): string[] {
  const { artefactFiles, bytes, firstAt, lastAt, layerProfiles, prunable, rows, samples } = output;
  const { artefacts, engines, file, free, variants, wal } = bytes;
  const siblings = Object.entries({ artefacts, engines, variants }).filter(([, size]) => size > 0);
  const size = [
    formatBytes(file),
    wal > 0 && `${formatBytes(wal)} in the WAL`,
    free > 0 && `${formatBytes(free)} of it free`,
  ];
  const span = firstAt === null ? '' : `, ${firstAt.slice(0, 10)} to ${lastAt?.slice(0, 10)}`;
  const open = rows.unfinishedSweeps === 0 ? '' : `, ${rows.unfinishedSweeps} not finished`;
  const pruned = rows.prunedRuns === 0 ? '' : `; ${count(rows.prunedRuns, 'run')} pruned`;
  const lines = [
    ['store', `${printable(output.path)}, schema ${output.storeSchema}`],
    ['size', size.filter((part) => part !== false).join(', ')],
    ['next to it', siblings.map(([name, held]) => `${name} ${formatBytes(held)}`).join(', ') || 'nothing'],
    ['sweeps', `${rows.sweeps}${span}${open}; ${count(rows.cells, 'cell')}, ${count(rows.builds, 'build')}`],
    [
      'kept',
      `samples of ${count(samples.runs, 'run')} (${formatBytes(samples.bytes)}), layers of ${layerProfiles.runs} (${formatBytes(layerProfiles.bytes)}), ${count(artefactFiles, 'file')} of artefacts${pruned}`,
    ],
    [
      'said',
      `${count(rows.baselines, 'baseline')}, ${count(rows.openFindings, 'open finding')}, ${count(rows.accuracies, 'accuracy', 'accuracies')}`,
    ],
    [
      'prune',
      prunable.sweeps === 0
        ? `nothing is older than ${prunable.days} days and not needed`
        : `--keep ${prunable.days}d would take ${formatBytes(prunable.sampleBytes)} of samples and up to ${formatBytes(prunable.artefactBytes)} of artefacts from ${count(prunable.sweeps, 'sweep')}`,
    ],
  ].flatMap(([label = '', text = '']) => labelled(label, text, look));
  if (output.runs.length === 0) return lines;
  return [...lines, '', ...runsTable(output, look), '', ...machinesTable(output, look)];
}

function labelled(label: string, text: string, look: Look): string[] {
  return wrapWords(text, look.columns - LABEL_WIDTH).map(
    (line, index) => look.style.dim(padEnd(index === 0 ? label : '', LABEL_WIDTH)) + line,
  );
}

type RunsRow = InfoOutput['runs'][number];

const OUTCOMES = ['measured', 'built', 'unfit', 'failed'] as const;

function runsTable({ runs }: InfoOutput, look: Look): string[] {
  const right = 'right' as const;
  return renderTable<RunsRow>(
    [
      { header: 'runs', text: ({ role }) => role },
      { header: 'provenance', text: ({ provenance }) => provenance },
      ...OUTCOMES.map((kind) => ({ header: kind, text: (row: RunsRow) => String(row[kind]), align: right })),
    ],
    runs,
    look,
  );
}

function machinesTable({ machines }: InfoOutput, look: Look): string[] {
  const right = 'right' as const;
  return renderTable<InfoOutput['machines'][number]>(
    [
      { header: 'host', text: ({ host }) => printable(host ?? 'unknown'), minWidth: 8 },
      { header: 'GPU', text: ({ gpu }) => printable(gpu ?? 'unknown'), minWidth: 8 },
      { header: 'environments', text: (row) => String(row.environments), align: right, dropRank: 1 },
      { header: 'runs', text: (row) => String(row.runs), align: right },
    ],
    machines,
    look,
  );
}

type StoreFacts = Pick<
  InfoOutput,
  'rows' | 'runs' | 'samples' | 'layerProfiles' | 'artefactFiles' | 'firstAt' | 'lastAt' | 'machines'
>;

function storeFacts({ $client }: StoreDatabase): StoreFacts {
  const number = (sql: string): number => Number($client.prepare(sql).pluck().get());
  const countOf = (table: string): number => number(`SELECT count(*) FROM ${table}`);
  const all = <Row>(sql: string): Row[] => $client.prepare<[], Row>(sql).all();
  const sizeOfTable = (table: 'samples' | 'layer_profiles') => ({
    runs: countOf(table),
    bytes: number(`SELECT coalesce(sum(length(data)), 0) FROM ${table}`),
  });
  const [span] = all<Pick<StoreFacts, 'firstAt' | 'lastAt'>>(
    'SELECT min(started_at) AS firstAt, max(started_at) AS lastAt FROM sweeps',
  );
  return {
    rows: {
      sweeps: countOf('sweeps'),
      unfinishedSweeps: countOf(`sweeps WHERE state <> 'finished'`),
      cells: countOf('cells'),
      builds: countOf('builds'),
      accuracies: countOf('accuracy'),
      baselines: countOf('baselines'),
      openFindings: countOf(`findings WHERE state = 'open'`),
      prunedRuns: countOf('pruned_runs'),
    },
    runs: all(
      `SELECT role, provenance, sum(outcome = 'measured' AND role <> 'build') AS measured,
              sum(outcome = 'built' OR (outcome = 'measured' AND role = 'build')) AS built, sum(outcome = 'unfit') AS unfit,
              sum(outcome = 'failed') AS failed
       FROM runs GROUP BY role, provenance ORDER BY role = 'build', role = 'profile', provenance`,
    ),
    samples: sizeOfTable('samples'),
    layerProfiles: sizeOfTable('layer_profiles'),
    artefactFiles: countOf('artefacts'),
    firstAt: span?.firstAt ?? null,
    lastAt: span?.lastAt ?? null,
    machines: all(
      `SELECT e.host, e.gpu_name AS gpu, count(DISTINCT e.environment_id) AS environments, sum(n.runs) AS runs
       FROM (SELECT environment_id, count(*) AS runs FROM runs GROUP BY environment_id) n
       JOIN environments e ON e.environment_id = n.environment_id
       GROUP BY e.host, e.gpu_name ORDER BY runs DESC, e.host, e.gpu_name`,
    ),
  };
}
