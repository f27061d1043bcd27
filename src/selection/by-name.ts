import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Io } from '../cli/io.ts';
import { findCells, plannedCells } from '../store/cells.ts';
import { cellKeysOf } from '../store/runs/runs.ts';
import { type KeyedCell, cellLabel } from '../records/cell.ts';
import { ensure, UsageError } from '../errors.ts';
import { printable, shortList } from '../text/printable.ts';
import { cellFields, type CellFields, type FieldValue } from '../matrix/matrix.ts';
import { type FieldWords, readFilter } from '../matrix/filter.ts';
import { shortNames } from '../terminal/cell-columns.ts';
import { shellQuote } from '../text/shell-quote.ts';
import { didYouMean } from '../text/nearest.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import {
  isOwnMetric,
  METRIC_IDS,
  METRIC_WORDS,
  type MetricId,
  metricOf,
  metricWord,
  metricOfWord,
} from '../records/metric.ts';
import type { Finding } from '../records/finding.ts';
import { findFindingsByPrefix } from '../store/sweeps/findings.ts';
import type { SweepId } from '../records/scalars.ts';
import { usualBound } from '../judge/bound.ts';
import { valuesOf } from '../judge/value-rule.ts';
import { BOUNDS } from '../records/bound.ts';
import { FLAG_LABELS, RUN_FLAGS, type RunFlagId } from '../records/outcome.ts';
import { isMeasured } from '../records/run.ts';
import { median } from '../statistics/order-statistics.ts';
import { type NewestRun, newestRunsOf } from '../store/runs/cell-runs.ts';
import { HINT_RULES } from '../trtexec/log/hints.ts';
import { storedMetrics } from '../store/runs/run-details.ts';

/** Returns `host-bound`: the words of tables as one word. */
function flagWord(id: RunFlagId): string {
  return FLAG_LABELS[id].replaceAll(' ', '-').toLowerCase();
}

/** Fields of a cell that come from its newest runs, with their words. The metrics of the cell are numeric fields. */
const MEASURED_WORDS: FieldWords = new Map([
  ['bound', BOUNDS],
  ['flag', RUN_FLAGS.map(flagWord)],
  ['hint', [...new Set(HINT_RULES.map(({ id }) => id))]],
]);

const MEASURED_FIELDS = [...MEASURED_WORDS.keys(), ...METRIC_IDS, ...METRIC_WORDS];

const NAMES_ONE = new RegExp(String.raw`\b(?:${MEASURED_FIELDS.join('|')})\s*[!=<>]`);

/** Adds fields of the newest runs. */
function withMeasured({ values, words, names }: CellFields, runs: readonly NewestRun[]): CellFields {
  const measured = runs.filter(isMeasured);
  const bound = usualBound((measured.length > 0 ? measured : runs).map(({ boundBy }) => boundBy));
  const numbers = METRIC_IDS.flatMap((metric) => {
    const value = median(valuesOf(measured, metric));
    return value === null ? [] : [metric, metricWord(metric)].map((name) => [name, value] as const);
  });
  const found: readonly (readonly [string, FieldValue])[] = [
    ['bound', bound ?? []],
    ['flag', runs.flatMap(({ flags }) => flags.map(({ id }) => flagWord(id)))],
    ['hint', runs.flatMap(({ hints }) => hints)],
    ...numbers,
  ];
  return { words, values: new Map([...found, ...values]), names: [...names, ...MEASURED_FIELDS] };
}

/** @param db store for `bound`, `flag`, `hint` and metrics of the cells; null for none */
export function chooseCells(db: StoreDatabase | null, cells: readonly KeyedCell[], expression: string | undefined) {
  if (expression === undefined) return [...cells];
  const chosen = filtered(cells, expression, db);
  if (Array.isArray(chosen)) return chosen;
  throw new UsageError(`${printable(expression)}, at character ${chosen.offset + 1}: ${printable(chosen.problem)}`);
}

function filtered(cells: readonly KeyedCell[], expression: string, db: StoreDatabase | null) {
  const keys = cells.map(({ key }) => key);
  const runs = db !== null && NAMES_ONE.test(expression) ? newestRunsOf(db, keys) : null;
  const fields = new Map(
    cells.map((cell) => {
      const own = cellFields(cell);
      return [cell, runs === null ? own : withMeasured(own, runs.get(cell.key) ?? [])];
    }),
  );
  const reading = readFilter(expression, [...fields.values()], MEASURED_WORDS);
  if (reading.kind === 'faulty') return reading;
  return [...fields].filter(([, known]) => reading.filter(known)).map(([cell]) => cell);
}

/** Cells that some sweeps planned or ran and that match `--filter`. */
export function cellsOfSweeps(db: StoreDatabase, sweepIds: readonly SweepId[], expression: string | undefined) {
  const keys = new Set([...plannedCells(db, sweepIds), ...cellKeysOf(db, sweepIds)]);
  return chooseCells(db, [...findCells(db, [...keys]).values()], expression);
}

/**
 * Cells by name: a label, a model, words of tables (`vit_small b8`), the start of a key, or an expression. Several
 * names select cells that match all of them, if there are any; otherwise each name selects its own cells. No names
 * select all.
 * @param of the store with the cells, or the path of their matrix
 * @param others other valid words, for a suggestion
 */
export function namedCells(
  of: StoreDatabase | string,
  cells: readonly KeyedCell[],
  names: readonly string[],
  others: readonly string[] = [],
) {
  const chosen = names.map((name) => new Set(cellsOfName(of, cells, name, others)));
  const common = cells.filter((cell) => chosen.every((set) => set.has(cell)));
  return common.length > 0 ? common : cells.filter((cell) => chosen.some((set) => set.has(cell)));
}

export function typed(cells: readonly KeyedCell[], all: readonly KeyedCell[]): string {
  const nameOf = shortNames(all);
  const names = all.map(nameOf);
  // Cells with a common name are listed by key.
  const isOwn = (name: string): boolean => names.indexOf(name) === names.lastIndexOf(name);
  const typedName = (cell: KeyedCell): string => (isOwn(nameOf(cell)) ? nameOf(cell) : cell.key.slice(0, 8));
  return cells.map((cell) => shellQuote(printable(typedName(cell)))).join(', ');
}

function cellsOfName(of: StoreDatabase | string, cells: readonly KeyedCell[], name: string, others: readonly string[]) {
  const byName = cells.filter((cell) => cell.model === name || cellLabel(cell) === name);
  if (byName.length > 0) return byName;
  const found = filtered(cells, name, typeof of === 'string' ? null : of);
  if (Array.isArray(found) && found.length > 0) return found;
  // A short name with a space or sign in a value is no expression.
  const nameOf = shortNames(cells);
  const offered = cells.filter((cell) => nameOf(cell) === name);
  if (offered.length > 0) return offered;
  const place = Array.isArray(found) || found.offset === 0 ? '' : `, at character ${found.offset + 1}`;
  const problem = Array.isArray(found) ? nearestCells(cells, name) : `${place}: ${found.problem}`;
  const words = new Set(cells.flatMap((cell) => cellFields(cell).words));
  const hint = problem.replace(`: no cell has "${name}"`, '') || didYouMean(name, [...others, ...words]);
  const list = typeof of === 'string' ? `bench plan ${shellQuote(of)}` : 'bench ls cells';
  throw new UsageError(printable(`no cell ${name}${hint} (see \`${list}\`)`));
}

const NEAREST = 3;

/** Cells that match the most words. */
function nearestCells(cells: readonly KeyedCell[], name: string): string {
  const asked = name.toLowerCase().split(/[\s&]+/);
  const byShared = Map.groupBy(cells, (cell) => {
    const { words } = cellFields(cell);
    return asked.filter((word) => words.includes(word)).length;
  });
  const most = Math.max(...byShared.keys());
  return most === 0 ? '' : `; nearest: ${typed(byShared.get(most)?.slice(0, NEAREST) ?? [], cells)}`;
}

/** @throws UsageError for several */
export function onlyOne<Item>(ref: string, [found, ...others]: readonly Item[], items: string): Item | null {
  if (others.length === 0) return found ?? null;
  throw new UsageError(`${printable(ref)} is the start of several ${items}: write more of it`);
}

/** The only finding whose ID starts with the prefix; null for none. @throws UsageError for several */
export function findingByPrefix(db: StoreDatabase, prefix: string): Finding | null {
  return onlyOne(prefix, findFindingsByPrefix(db, prefix), 'findings');
}

/**
 * The metric with a name: built in, or measured by a harness in this store.
 * @returns null without a name
 * @throws UsageError when none or several match
 */
export function metricNamed(db: StoreDatabase, name: string | undefined): MetricId | null {
  if (name === undefined) return null;
  if (isOwnMetric(name)) return name;
  const stored = storedMetrics(db);
  const known = stored.filter((id) => id === name || metricOf(id).label === name);
  const found = (known.length === 1 ? known[0] : undefined) ?? metricOfWord(name);
  if (found !== null) return found;
  ensure(known.length === 0, `--metric ${printable(name)} is ${known.join(' and ')}: write the whole name`);
  const labels = [...new Set(stored.map((id) => metricOf(id).label))];
  const list = labels.length === 0 ? '' : ` (${shortList(labels, 10)})`;
  throw new UsageError(
    `--metric ${printable(name)}: neither one of ${METRIC_WORDS.join(', ')} nor a number of a harness in this store${list}${didYouMean(name, [...METRIC_WORDS, ...labels])}`,
  );
}

const RUN_FILES = /^(?:run\.json|stdout\.log|profile\.json|layers\.json)(?:\.(?:gz|zst|br))?$/;

/**
 * True for a text that looks like a path, or that is a folder with a run.
 * @throws UsageError when it looks like a path and does not exist
 */
export function isPath(name: string, io: Io): boolean {
  const path = resolve(io.cwd, name);
  if (/[/\\]|\.(?:json|log|txt|csv|trace)(?:\.(?:gz|zst|br))?$|^\.{1,2}$/.test(name)) {
    if (existsSync(path)) return true;
    // Branches may also contain slashes, and so may expressions.
    if (/^[./~]|[/\\]$|\.(?:json|log|txt|csv|trace)(?:\.\w+)?$/.test(name)) {
      throw new UsageError(`${printable(name)}: file or folder not found`);
    }
    return false;
  }
  return existsSync(path) && statSync(path).isDirectory() && readdirSync(path).some((file) => RUN_FILES.test(file));
}
