import { printable } from '../../text/printable.ts';
import type { MergeOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { wrapWords } from '../../terminal/text-width.ts';

type MergedStore = MergeOutput['stores'][number];

export function mergeText({ stores }: MergeOutput, look: Look): string[] {
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
