import { type CellRatio, geometricMean, type Noise } from '../../judge/geometric-mean.ts';
import type { JudgedCell } from '../../judge/compare/compare-matrix.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { GeometricMean } from '../../records/verdict.ts';
import { metricOf } from '../../records/metric.ts';
import type { Look } from '../../terminal/look.ts';
import { meanChangeText, meanText } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { Comparison } from './output.ts';

type Mean = Comparison['geometricMeans'][number];

const GROUPS: Readonly<Record<Exclude<Mean['by'], 'all'>, (cell: KeyedCell) => string>> = {
  model: ({ model }) => model,
  precision: ({ precision }) => precision,
};

/** Of the cells of each metric: all, and each model and precision where there are several. */
export function geometricMeans(
  cells: readonly JudgedCell[],
  ratios: ReadonlyMap<string, CellRatio>,
  shared: Noise,
): Mean[] {
  return [...Map.groupBy(cells, ({ metric }) => metric)].flatMap(([metric, own]) => {
    const meanOf = (by: Mean['by'], name: string | null, its: readonly JudgedCell[]): Mean[] => {
      const keys = its.map(({ cell }) => cell.key);
      const mean = meanOfCells(keys, ratios, shared);
      return mean === null ? [] : [{ metric, by, name, ...mean }];
    };
    const parts = (['model', 'precision'] as const).flatMap((by) => {
      const groups = [...Map.groupBy(own, ({ cell }) => GROUPS[by](cell))].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return groups.length < 2 ? [] : groups.flatMap(([name, its]) => meanOf(by, name, its));
    });
    return [...meanOf('all', null, own), ...parts];
  });
}

function meanOfCells(
  keys: readonly string[],
  ratios: ReadonlyMap<string, CellRatio>,
  shared: Noise,
): GeometricMean | null {
  const own = keys.map((key) => ratios.get(key) ?? { logRatio: null, noise: null });
  return geometricMean(own, shared);
}

/** More models than this are in `--json` only. */
const SHOWN_GROUPS = 6;

/** `geometric mean +1.2 % (0.9 to 1.5), 48 cells`, and a line for models and for precisions; none of a single cell. */
export function geometricMeanLines(means: Comparison['geometricMeans'], { columns, style }: Look): string[] {
  const metrics = Map.groupBy(means, ({ metric }) => metric);
  return [...metrics].flatMap(([metric, own]) => {
    const all = own.find(({ by }) => by === 'all');
    if (all === undefined || all.cells < 2) return [];
    const of = metrics.size > 1 ? `${metricOf(metric).label}: ` : '';
    const groups = (['model', 'precision'] as const).flatMap((by) => {
      const parts = own.filter((mean) => mean.by === by);
      if (parts.length === 0) return [];
      const texts = parts.slice(0, SHOWN_GROUPS).map((mean) => `${printable(mean.name ?? '')} ${meanChangeText(mean)}`);
      const more = parts.length > SHOWN_GROUPS ? `, ${parts.length - SHOWN_GROUPS} more in --json` : '';
      return wrapHanging(`  by ${by}: ${texts.join(', ')}${more}`, columns, 4).map(style.dim);
    });
    return [...wrapHanging(`${of}geometric mean ${meanText(all)}`, columns, 2), ...groups];
  });
}
