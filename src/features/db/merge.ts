import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { copyArtefacts } from '../../artefacts/copy-artefacts.ts';
import { writeFindings } from '../../artefacts/findings-file.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, STORE_NAME, storePath } from '../../cli/store-location.ts';
import { usingStore, warnIfMigrated } from '../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { openStore, type OpenStore } from '../../store/file/open.ts';
import { mergeStore } from '../../store/merge/merge-store.ts';
import { openOther, refuseOther } from '../../store/merge/other-store.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { wrapWords } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { MergeOptions } from './command.ts';
import type { MergeOutput } from './output.ts';
import { Ticker } from './ticker.ts';

type MergedStore = MergeOutput['stores'][number];

export async function mergeStores(others: readonly string[], options: MergeOptions, io: Io): Promise<ExitCode> {
  const ownPath = storePath(options.db, io);
  const stores: MergedStore[] = [];
  const paths = others.map((other) => storeIn(resolve(io.cwd, other)));
  // Before a store is created: a mistyped name must not leave an empty one.
  for (const path of paths) refuseOther(path, ownPath, migrationsFolder());
  const store = warnIfMigrated(openStore(ownPath, migrationsFolder()), io);
  await usingStore(store, async () => {
    for (const path of paths) stores.push(await mergeOne(store, path, options, io));
  });
  printResult<MergeOutput>(io, options, { schemaVersion: 1, stores }, mergeText);
  return stores.some(({ conflicts }) => conflicts.length > 0) ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

/** A folder represents the store in it. */
function storeIn(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, STORE_NAME) : path;
}

async function mergeOne(store: OpenStore, path: string, options: MergeOptions, io: Io): Promise<MergedStore> {
  const other = openOther(path, store.path, migrationsFolder());
  const ticker = new Ticker(io);
  try {
    const merge = await mergeStore(store.db, other.readable, (table) => ticker.report(`merging ${table}`), io.signal);
    const { sweepIds, updatedSweepIds, ...merged } = merge;
    const [from, to] = [artefactsFolderOf(path), artefactsFolderOf(store.path)];
    const onCopied = (folders: number): void => ticker.report(`copying artefacts: ${folders} runs`);
    const areCopied = options.artefacts !== false && from !== to;
    const artefacts = areCopied ? await copyArtefacts(store.db, merge, from, to, onCopied, io.signal) : null;
    if (areCopied) await writeFindings(store.db, to, sweepIds);
    return { path, ...merged, conflicts: [...merged.conflicts], updatedSweeps: updatedSweepIds.length, artefacts };
  } finally {
    ticker.end();
    other.close();
  }
}

function mergeText({ stores }: MergeOutput, look: Look): string[] {
  return stores.flatMap((store, index) => [
    ...(index === 0 ? [] : ['']),
    ...storeLines(store, look).flatMap((line) => wrapWords(line, look.columns)),
    ...store.conflicts.flatMap(({ table, columns, rows, examples }) => {
      const what = columns.length === 0 ? 'not here, though their run is' : columns.join(', ');
      const more = rows > examples.length ? ', …' : '';
      return wrapWords(`  ${table}: ${what} (${rows}: ${examples.map(printable).join(', ')}${more})`, look.columns);
    }),
  ]);
}

function storeLines({ added, alreadyThere, artefacts, conflicts, path, updatedSweeps }: MergedStore, look: Look) {
  const counted: [number, string, string?][] = [
    [added.sweeps, 'sweep'],
    [added.runs, 'run'],
    [added.cells, 'cell'],
    [added.baselines, 'baseline'],
    [added.findings, 'finding'],
    [added.acknowledgements, 'acceptance'],
    [added.accuracy, 'accuracy', 'accuracies'],
  ];
  const news = counted.flatMap(([number, noun, plural]) => (number > 0 ? count(number, noun, plural) : []));
  const there = `; ${count(alreadyThere.sweeps, 'sweep')} and ${count(alreadyThere.runs, 'run')} were there already`;
  const differing = conflicts.reduce((sum, { rows }) => sum + rows, 0);
  const { folders, bytes, missing } = artefacts ?? { folders: 0, bytes: 0, missing: 0 };
  return [
    `${look.style.strong(printable(path))}: ${news.length === 0 ? 'nothing new' : `${news.join(', ')} came`}${alreadyThere.sweeps + alreadyThere.runs === 0 ? '' : there}`,
    updatedSweeps > 0 && `${count(updatedSweeps, 'sweep')} had come further there: brought up to it`,
    folders > 0 && `artefacts of ${count(folders, 'run')} came, ${formatBytes(bytes)}`,
    missing > 0 && `${count(missing, 'run')} had no artefacts there either`,
    differing > 0 &&
      look.style.warn(
        `${count(differing, 'row')} ${differing === 1 ? 'differs' : 'differ'} under the same id: what was here is kept`,
      ),
  ].filter((line) => line !== false);
}
