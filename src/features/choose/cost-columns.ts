import type { DeploymentCosts } from '../../judge/deployment.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type NamedAxisName, namedWords } from '../../records/axis.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import type { Column } from '../../terminal/table.ts';

interface CostRow {
  readonly cell: KeyedCell;
  readonly costs: DeploymentCosts;
}

interface CostColumn {
  readonly header: string;
  readonly cost: keyof DeploymentCosts;
  /** Axes with which one looks at it. */
  readonly axes: readonly NamedAxisName[];
}

const COST_COLUMNS: readonly CostColumn[] = [
  {
    header: 'build s',
    cost: 'buildS',
    axes: ['builderOptimizationLevel', 'sparsity', 'auxStreams', 'memPoolSize', 'runtime', 'weights', 'weightBudget'],
  },
  { header: 'load s', cost: 'loadS', axes: ['loader', 'runtime', 'weights', 'weightBudget'] },
  { header: 'refit ms', cost: 'refitMs', axes: ['weights'] },
  { header: 'GPU MiB', cost: 'memoryMib', axes: ['weightBudget', 'allocationStrategy', 'auxStreams', 'memPoolSize'] },
];

/** What an axis costs is shown next to what it gains; where no cell has such an axis, nobody asks for it. */
export function costColumns<Row extends CostRow>(measured: readonly Row[]): Column<Row>[] {
  const stated = new Set<string>(measured.flatMap(({ cell }) => namedWords(cell.axisFlags).map(({ name }) => name)));
  return COST_COLUMNS.filter(
    ({ axes, cost }) => axes.some((axis) => stated.has(axis)) && measured.some(({ costs }) => costs[cost] !== null),
  ).map(({ cost, header }) => ({
    header,
    text: ({ costs }) => (costs[cost] === null ? '' : formatNumber(costs[cost])),
    align: 'right',
    dropRank: 4.5,
  }));
}
