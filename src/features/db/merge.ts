import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { copyArtefacts } from '../../artefacts/copy-artefacts.ts';
import { writeFindings } from '../../artefacts/findings-file.ts';
import type { MergeOutput } from './output.ts';
import { type MergeProgress, mergeStore } from '../../store/merge/merge-store.ts';
import { openOther, refuseOther } from '../../store/merge/other-store.ts';
import { openStore, type OpenStore } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, STORE_NAME, storePath } from '../../cli/store-location.ts';
import { warnIfMigrated, usingStore } from '../../cli/with-store.ts';
import { Ticker } from './ticker.ts';
import type { MergeOptions } from './command.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { wrapWords } from '../../terminal/text-width.ts';

type MergedStore = MergeOutput['stores'][number];

export async function mergeStores(others: readonly string[], options: MergeOptions, io: Io): Promise<ExitCode> {
  const ownPath = storePath(options.db, io);
  const stores: MergedStore[] = [];
  const paths = others.map((other) => storeIn(resolve(io.cwd, other)));
  // Before a store is created: a mistyped name must not leave an empty one.
  for (const path of paths) refuseOther(path, ownPath, migrationsFolder());
  const store = warnIfMigrated(openStore(ownPath, migrationsFolder()), io);
  const work = async (): Promise<void> => {
    for (const path of paths) stores.push(await mergeOne(store, path, options, io));
  };
  await usingStore(store, work);
  printResult<MergeOutput>(io, options, { schemaVersion: 1, stores }, mergeText);
  const differs = stores.some(({ conflicts }) => conflicts.length > 0);
  return differs ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

/** A folder represents the store in it. */
function storeIn(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? join(path, STORE_NAME) : path;
}

async function mergeOne(store: OpenStore, path: string, options: MergeOptions, io: Io): Promise<MergedStore> {
  const other = openOther(path, store.path, migrationsFolder());
  const ticker = new Ticker(io);
  try {
    const onMerged = ({ runs, of }: MergeProgress): void => ticker.report(`merging: ${runs} of ${of} runs`);
    const merge = await mergeStore(store.db, other.readable, onMerged, io.signal);
    const { added, alreadyThere, conflicts, sweepIds, updatedSweepIds } = merge;
    const [from, to] = [artefactsFolderOf(path), artefactsFolderOf(store.path)];
    const onCopied = (folders: number): void => ticker.report(`copying artefacts: ${folders} runs`);
    const areCopied = options.artefacts !== false && from !== to;
    const artefacts = areCopied ? await copyArtefacts(store.db, merge, from, to, onCopied, io.signal) : null;
    if (areCopied) await writeFindings(store.db, to, sweepIds);
    return { path, added, alreadyThere, updatedSweeps: updatedSweepIds.length, conflicts, artefacts };
  } finally {
    ticker.end();
    other.close();
  }
}

function mergeText({ stores }: MergeOutput, look: Look): string[] {
  return stores.flatMap((store, index) => [
    ...(index === 0 ? [] : ['']),
    ...storeLines(store, look).flatMap((line) => wrapWords(line, look.columns)),
    ...store.conflicts.flatMap((conflict) => conflictLines(conflict, look)),
  ]);
}

function storeLines(store: MergedStore, look: Look): string[] {
  const { added, alreadyThere, artefacts, conflicts, path, updatedSweeps } = store;
  const news = addedWords(added);
  const there = `${count(alreadyThere.sweeps, 'sweep')} and ${count(alreadyThere.runs, 'run')} were there already`;
  const differing = conflicts.reduce((sum, { rows }) => sum + rows, 0);
  return [
    `${look.style.strong(printable(path))}: ${news === '' ? 'nothing new' : `${news} came`}${alreadyThere.sweeps + alreadyThere.runs === 0 ? '' : `; ${there}`}`,
    ...(updatedSweeps === 0 ? [] : [`${count(updatedSweeps, 'sweep')} had come further there: brought up to it`]),
    ...artefactLines(artefacts),
    ...(differing === 0
      ? []
      : [
          look.style.warn(
            `${count(differing, 'row')} ${differing === 1 ? 'differs' : 'differ'} under the same id: what was here is kept`,
          ),
        ]),
  ];
}

function addedWords(added: MergedStore['added']): string {
  const words: [number, string, string?][] = [
    [added.sweeps, 'sweep'],
    [added.runs, 'run'],
    [added.cells, 'cell'],
    [added.baselines, 'baseline'],
    [added.findings, 'finding'],
    [added.acknowledgements, 'acceptance'],
    [added.accuracy, 'accuracy', 'accuracies'],
  ];
  return words
    .filter(([number]) => number > 0)
    .map(([number, noun, plural]) => count(number, noun, plural))
    .join(', ');
}

function artefactLines(artefacts: MergedStore['artefacts']): string[] {
  if (artefacts === null) return [];
  const { folders, bytes, missing } = artefacts;
  return [
    ...(folders === 0 ? [] : [`artefacts of ${count(folders, 'run')} came, ${formatBytes(bytes)}`]),
    ...(missing === 0 ? [] : [`${count(missing, 'run')} had no artefacts there either`]),
  ];
}

function conflictLines({ table, columns, rows, examples }: MergedStore['conflicts'][number], look: Look): string[] {
  const what = columns.length === 0 ? 'not here, though their run is' : columns.join(', ');
  const more = rows > examples.length ? ', …' : '';
  const text = `  ${table}: ${what} (${rows}: ${examples.map(printable).join(', ')}${more})`;
  return wrapWords(text, look.columns);
}
