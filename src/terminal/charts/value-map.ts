import type { Cell } from '../../records/cell.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { heatMaps, shadeOf } from './heat-map.ts';
import type { Look } from '../look.ts';
import { formatNumber } from '../numbers.ts';
import { wrapWords } from '../text-width.ts';

/** A cell with the one number that a map shows of it. */
export interface MappedCell {
  readonly cell: Cell;
  readonly metric: MetricId;
  /** Median; null without any. */
  readonly value: number | null;
}

/** With several streams they overlap. */
const OVERLAPPING: readonly MetricId[] = ['gpuComputeMs', 'latencyMs', 'p99Ms'];

/** The values of all cells by precision and batch: the darker, the larger. What has another unit has a map of its own. */
export function valueMap(cells: readonly MappedCell[], look: Look): string[] {
  const maps = [...Map.groupBy(cells, ({ metric }) => metric)];
  return maps.flatMap(([metric, own], place) => [...(place === 0 ? [] : ['']), ...mapOf(metric, own, look)]);
}

function mapOf(metric: MetricId, cells: readonly MappedCell[], look: Look): string[] {
  const values = cells.flatMap(({ value }) => value ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // Steps of the same ratio, where there is one.
  const isRatio = low > 0;
  const shareOf = (value: number): number => {
    if (!(high > low)) return 0;
    return isRatio ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  };
  const tiles = cells.map(({ cell, value }) => ({
    cell,
    sign: value === null ? '✗' : shadeOf(shareOf(value)),
    number: `${isOverlapping(cell, metric) && value !== null ? '~' : ''}${formatNumber(value)}`,
    style: value === null ? look.style.bad : look.style.accent,
  }));
  const { label, unit } = metricOf(metric);
  const steps = isRatio ? ', in steps of the same ratio' : '';
  const ends = `░ from ${formatNumber(low)} to █ ${formatNumber(high)} ${unit}${steps}`;
  const scale = values.length === 0 ? '' : `: ${high > low ? ends : 'the same everywhere'}`;
  const lacks = metric === 'gpuComputeMs' ? 'measured run' : 'value';
  const missing = values.length < cells.length ? `; ✗ without a ${lacks}` : '';
  const legend = `median ${label}, ${unit}${scale}${missing}`;
  return [...heatMaps(tiles, look), ...wrapWords(legend, look.columns).map(look.style.dim)];
}

function isOverlapping({ streams }: Cell, metric: MetricId): boolean {
  return streams > 1 && OVERLAPPING.includes(metric);
}
