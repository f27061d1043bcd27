import { usualBound } from '../judge/bound.ts';
import { valuesOf } from '../judge/value-rule.ts';
import type { CellFields, FieldValue } from '../matrix/cell-fields.ts';
import type { FieldWords } from '../matrix/filter.ts';
import { BOUNDS } from '../records/bound.ts';
import type { KeyedCell } from '../records/cell.ts';
import { METRIC_IDS, METRIC_WORDS, metricWord } from '../records/metric.ts';
import { FLAG_LABELS, RUN_FLAGS, type RunFlagId } from '../records/run-flag.ts';
import { isMeasured } from '../records/run.ts';
import { median } from '../statistics/median.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { type NewestRun, newestRunsOf } from '../store/runs/cell-runs.ts';
import { HINT_RULES } from '../trtexec/log/hints.ts';

/** `host-bound`: as tables print it, in one word. */
function flagWord(id: RunFlagId): string {
  return FLAG_LABELS[id].replaceAll(' ', '-').toLowerCase();
}

/** Fields of a cell that its newest runs fill, with their words. Its metrics are fields, too: numbers. */
export const MEASURED_WORDS: FieldWords = new Map([
  ['bound', BOUNDS],
  ['flag', RUN_FLAGS.map(flagWord)],
  ['hint', [...new Set(HINT_RULES.map(({ id }) => id))]],
]);

const MEASURED_FIELDS = [...MEASURED_WORDS.keys(), ...METRIC_IDS, ...METRIC_WORDS];

const NAMES_ONE = new RegExp(String.raw`\b(?:${MEASURED_FIELDS.join('|')})\s*[!=<>]`);

/** @param fields of each cell; with those of its newest runs where the expression has one of them */
export function withMeasured<Entry extends { readonly cell: KeyedCell; readonly fields: CellFields }>(
  db: StoreDatabase,
  entries: readonly Entry[],
  expression: string,
): readonly Entry[] {
  if (!NAMES_ONE.test(expression)) return entries;
  const keys = entries.map(({ cell }) => cell.key);
  const runs = newestRunsOf(db, keys);
  return entries.map((entry) => {
    const values = new Map([...measuredIn(runs.get(entry.cell.key) ?? []), ...entry.fields.values]);
    return { ...entry, fields: { ...entry.fields, values, names: [...entry.fields.names, ...MEASURED_FIELDS] } };
  });
}

function measuredIn(runs: readonly NewestRun[]): [string, FieldValue][] {
  const measured = runs.filter(isMeasured);
  const bound = usualBound((measured.length > 0 ? measured : runs).map(({ boundBy }) => boundBy));
  const numbers = METRIC_IDS.flatMap((metric): [string, number][] => {
    const value = median(valuesOf(measured, metric));
    return value === null ? [] : [metric, metricWord(metric)].map((name) => [name, value]);
  });
  return [
    ['bound', bound ?? []],
    ['flag', runs.flatMap(({ flags }) => flags.map(({ id }) => flagWord(id)))],
    ['hint', runs.flatMap(({ hints }) => hints)],
    ...numbers,
  ];
}
