import { type MetricId, metricOf } from '../records/metric.ts';
import { printable } from '../text/printable.ts';
import { formatMs, formatNumber, intervalText } from './numbers.ts';
import type { Column } from './table.ts';

interface SideRow {
  readonly metric: MetricId;
  readonly unit: string;
  readonly ciPercent: readonly [number, number] | null;
}

/** Columns for two sides of cells and the change between them with its interval. A common unit is in the header. */
export function sideColumns<Row extends SideRow>(
  rows: readonly Row[],
  names: readonly [string, string],
  valuesOf: (row: Row) => readonly [number | null, number | null],
  change: Column<Row>,
): Column<Row>[] {
  const metrics = new Set(rows.map(({ metric }) => metric));
  const [unit = '', ...others] = new Set(rows.map((row) => printable(row.unit)));
  const isOneUnit = others.length === 0;
  const valueText = (row: Row, value: number | null): string => {
    const text = row.unit === 'ms' ? formatMs(value).replace(/ ms$/, '') : formatNumber(value);
    return isOneUnit || value === null ? text : `${text} ${printable(row.unit)}`;
  };
  const sides = ([0, 1] as const).map((side): Column<Row> => {
    const text = (row: Row): string => valueText(row, valuesOf(row)[side]);
    return { header: `${names[side]}${isOneUnit ? ` ${unit}` : ''}`, text, align: 'right', dropRank: 2 };
  });
  return [
    {
      header: 'metric',
      text: ({ metric }) => (metrics.size > 1 ? printable(metricOf(metric).label) : ''),
      dropRank: 5,
    },
    ...sides,
    { ...change, align: 'right' },
    {
      header: '95 % interval',
      text: ({ ciPercent }) => intervalText(ciPercent).replace(/ %$/, ''),
      align: 'right',
      dropRank: 3,
    },
  ];
}
