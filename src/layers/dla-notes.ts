import type { Cell } from '../records/cell.ts';
import { isOpaque } from './layer-name.ts';
import type { JoinedLayer } from './profiled-engine.ts';

/**
 * What a profile says of the DLA. It runs whole regions, `{ForeignNode[a...b]}` of the log's "Layers Running on DLA"; a
 * region of Myelin has the same name, and its type.
 */
export function dlaNotes(cell: Pick<Cell, 'axisFlags'> | null, layers: readonly JoinedLayer[]): string[] {
  if (cell?.axisFlags['--useDLACore'] === undefined) return [];
  const regions = layers.filter(({ name, type }) => isOpaque(name) && !/myelin|kgen/i.test(type ?? ''));
  const share = sumMs(layers) > 0 ? `, ${Math.round((100 * sumMs(regions)) / sumMs(layers))} % of the time` : '';
  const rest = layers.length - regions.length;
  const onGpu = rest === 0 ? 'nothing ran on the GPU' : `the GPU ran the other ${rest}`;
  return [`on the DLA: ${regions.length} of ${layers.length} layers${share}; ${onGpu}`];
}

function sumMs(layers: readonly JoinedLayer[]): number {
  return layers.reduce((total, { averageMs }) => total + (averageMs ?? 0), 0);
}
