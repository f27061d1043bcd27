import type { GateLimit, GateSettings } from '../../records/gate-settings.ts';
import { type GatedMetricId, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';

/** Slower builds only warn: they have many causes, and nobody waits for a nightly build. */
const ONLY_WARNS: GatedMetricId = 'buildS';

export type GateRules = ReturnType<typeof gateRules>;

/**
 * The settings of a gate by cell and metric. Of several matching entries, the last one applies.
 * @param minChangePercent value of the command line, which overrides the settings
 */
export function gateRules(settings: GateSettings, minChangePercent: number | null = null) {
  const stated = minChangePercent === null ? [] : [{ metric: null, cells: null, percent: minChangePercent }];
  const minChange = [...settings.minChange, ...stated].map(fitted);
  const limits = settings.limits.map(fitted);
  const warn = settings.warn.map(fitted);
  const owners = settings.owners.map((entry) => fitted({ ...entry, metric: null }));
  return {
    /** Smallest relevant change in percent; 0 if not set. */
    minChangeOf: (cell: CellKey, metric: GatedMetricId): number => {
      const found = minChange.findLast(
        ({ entry, fits }) => fits(cell, metric) && (entry.metric !== null || !isJudgedOnly(metric)),
      );
      return found?.entry.percent ?? 0;
    },
    isWarning: (cell: CellKey, metric: GatedMetricId): boolean =>
      metric === ONLY_WARNS || warn.some(({ fits }) => fits(cell, metric)),
    /** The owners of the cells; null if there are none. */
    ownerOf: (cells: readonly CellKey[]): string | null => {
      const found = cells.flatMap((cell) => owners.findLast(({ fits }) => fits(cell, null))?.entry.owner ?? []);
      return found.length === 0 ? null : [...new Set(found)].toSorted().join(', ');
    },
    limitOf: (cell: CellKey, metric: GatedMetricId): GateLimit | null =>
      limits.findLast(({ entry, fits }) => entry.metric === metric && fits(cell, metric))?.entry ?? null,
    /** Metrics with a limit in some cell. Their values are needed in addition to those that the gate judges. */
    limited: [...new Set(settings.limits.map(({ metric }) => metric))],
    limits: settings.limits,
  };
}

function fitted<Entry extends { readonly metric: GatedMetricId | null; readonly cells: readonly CellKey[] | null }>(
  entry: Entry,
) {
  const keys = entry.cells === null ? null : new Set(entry.cells);
  return {
    entry,
    fits: (cell: CellKey, metric: GatedMetricId | null): boolean =>
      (entry.metric === null || entry.metric === metric) && (keys === null || keys.has(cell)),
  };
}

/** Values of the cells of a sweep by metric, in the unit of the metric. */
export type NewestValues = ReadonlyMap<CellKey, ReadonlyMap<GatedMetricId, number>>;

/**
 * Values beyond their limits, in the order of the cells. `beyondPercent` is relative to the limit; null for a limit of
 * 0.
 */
export function brokenLimits(rules: GateRules, values: NewestValues) {
  return [...values].flatMap(([cell, ofCell]) =>
    rules.limited.flatMap((metric) => {
      const [limit, value] = [rules.limitOf(cell, metric), ofCell.get(metric)];
      if (limit === null || value === undefined) return [];
      if (limit.comparison === '<=' ? value <= limit.value : value >= limit.value) return [];
      return [{ limit, cell, value, beyondPercent: limit.value === 0 ? null : (value / limit.value - 1) * 100 }];
    }),
  );
}

export type BrokenLimit = ReturnType<typeof brokenLimits>[number];

/** Limits without a value in any of their cells, of which the owner should know. */
export function limitsWithoutValue({ limits }: GateRules, values: NewestValues): GateLimit[] {
  return limits.filter(({ metric, cells }) =>
    (cells ?? [...values.keys()]).every((cell) => values.get(cell)?.has(metric) !== true),
  );
}

/** Returns `p99 <= 2 ms (model=vit*)`. */
export function limitText({ filter, text }: GateLimit): string {
  return filter === null ? text : `${text} (${filter})`;
}
