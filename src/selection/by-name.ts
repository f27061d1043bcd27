import { findCells, plannedCells, allCells } from '../store/cells.ts';
import { cellKeysOf } from '../store/runs/runs.ts';
import type { KeyedCell } from '../records/cell.ts';
import { cellLabel } from '../text/cell-label.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { cellFields, CELL_FIELDS, flagFields, readFilter } from '../matrix/filter.ts';
import { didYouMean } from '../text/nearest.ts';
import { measuredRunIds } from '../store/builds/builds.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findRunsByPrefix, showRun, type ShownRun } from '../store/runs/show-run.ts';
import { isMetric, isOwnMetric, METRIC_IDS, type MetricId, metricOf } from '../records/metric.ts';
import { storedMetrics } from '../store/runs/run-facts.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

export function chooseCells(cells: readonly KeyedCell[], expression: string | undefined): KeyedCell[] {
  if (expression === undefined) return [...cells];
  const reading = readFilter(expression, [...CELL_FIELDS, ...flagFields(cells)]);
  if (reading.kind === 'faulty') {
    throw new UsageError(`${printable(expression)}, at character ${reading.offset + 1}: ${reading.problem}`);
  }
  return cells.filter((cell) => reading.filter(cellFields(cell)));
}

/** Cells that some sweeps planned or ran, and that pass `--filter`. */
export function cellsOfSweeps(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  expression: string | undefined,
): KeyedCell[] {
  const keys = new Set([...plannedCells(db, sweepIds), ...cellKeysOf(db, sweepIds)]);
  return chooseCells([...findCells(db, [...keys]).values()], expression);
}

const SHORTEST_KEY = 4;

/** Cells by name: the start of a key, a label, a model, or a filter expression. No names mean all. */
export function namedCells(cells: readonly KeyedCell[], names: readonly string[]): KeyedCell[] {
  if (names.length === 0) return [...cells];
  const chosen = new Set(names.flatMap((name) => cellsOfName(cells, name)));
  return cells.filter((cell) => chosen.has(cell));
}

function cellsOfName(cells: readonly KeyedCell[], name: string): KeyedCell[] {
  const isKey = /^[0-9a-f]+$/.test(name) && name.length >= SHORTEST_KEY;
  const byKey = isKey ? cells.filter(({ key }) => key.startsWith(name)) : [];
  if (byKey.length > 0) return byKey;
  const byName = cells.filter((cell) => cell.model === name || cellLabel(cell) === name);
  if (byName.length > 0) return byName;
  if (/[=<>]/.test(name)) {
    const found = chooseCells(cells, name);
    if (found.length > 0) return found;
  }
  const known = [...new Set(cells.flatMap((cell) => [cell.model, cellLabel(cell)]))];
  throw new UsageError(
    `no cell ${printable(name)}${printable(didYouMean(name, known))} (name it by key, model, label or expression; see \`bench ls cells\`)`,
  );
}

export function storedRun(db: StoreDatabase, runId: RunId): ShownRun {
  const run = showRun(db, runId);
  if (run === null) throw new UsageError(`no run ${printable(runId)} in this store`);
  return run;
}

const SHORTEST_ID = 4;

/**
 * The run whose id starts so; for a cell the fastest timed run of its newest sweep.
 * @throws UsageError when there is none, or more than one
 */
export function namedRun(db: StoreDatabase, name: string): string {
  const [runId, ...more] = name.length < SHORTEST_ID ? [] : findRunsByPrefix(db, name);
  if (more.length > 0) {
    throw new UsageError(`${printable(name)} is the start of several ids: write more of it`);
  }
  if (runId !== undefined) return runId;
  const cells = allCells(db);
  if (cells.length === 0 || /^[0-9a-f]{32}$/.test(name)) {
    throw new UsageError(`no run ${printable(name)}: \`bench show CELL\` lists those of a cell`);
  }
  const [cell, ...others] = namedCells(cells, [name]);
  if (cell === undefined || others.length > 0) {
    throw new UsageError(
      `${printable(name)} is ${others.length + 1} cells: name one by its key (see \`bench ls cells\`), or a run`,
    );
  }
  const [fastest] = measuredRunIds(db, cell.key);
  if (fastest === undefined) {
    throw new UsageError(`${printable(name)}: no run of it was measured (see \`bench show\`)`);
  }
  return fastest;
}

const SHOWN = 10;

/**
 * The metric of that name: built in, or measured by a harness in this store.
 * @returns null without a name
 * @throws UsageError when none matches, or several do
 */
export function metricNamed(db: StoreDatabase, name: string | undefined): MetricId | null {
  if (name === undefined) return null;
  if (isOwnMetric(name)) return name;
  const stored = storedMetrics(db);
  const known = stored.filter((id) => id === name || metricOf(id).label === name);
  const [only, ...others] = known;
  if (only !== undefined && others.length === 0) return only;
  if (isMetric(name)) return name;
  if (only !== undefined) {
    throw new UsageError(`--metric ${printable(name)} is ${known.join(' and ')}: write it whole`);
  }
  const labels = [...new Set(stored.map((id) => metricOf(id).label))];
  const more = labels.length > SHOWN ? ', …' : '';
  const list = labels.length === 0 ? '' : ` (${labels.slice(0, SHOWN).join(', ')}${more})`;
  throw new UsageError(
    `--metric ${printable(name)}: neither one of ${METRIC_IDS.join(', ')} nor a number of a harness in this store${list}${didYouMean(name, [...METRIC_IDS, ...labels])}`,
  );
}
