import { UsageError } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { isMetric, isOwnMetric, METRIC_IDS, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { findDriver } from '../../harnesses/registry.ts';
import { didYouMean } from '../../text/nearest.ts';

/**
 * A metric that no cell will have is refused before anything is measured. Of a harness whose reports alone tell what it
 * measures, nothing is refused.
 * @throws UsageError which names those that there will be
 */
export function checkAskedMetric(name: string | null, cells: readonly MatrixCell[]): void {
  if (name === null || isMetric(name)) return;
  const labels = new Set<string>();
  for (const { cell, harness } of cells) {
    if (harness === null) continue;
    const told = findDriver(harness.driver)?.metrics(harness.settings) ?? null;
    const ids = [...(cell.harness === undefined ? [] : [cell.harness.metric]), ...(told ?? [])];
    for (const id of ids) if (!isOwnMetric(id)) labels.add(metricOf(id).label);
    if (told === null || labels.has(name)) return;
  }
  const own = [...labels];
  const [start, end] = own.length === 0 ? ['not', ''] : ['neither', ` nor a number of the harness (${own.join(', ')})`];
  throw new UsageError(
    `--metric ${printable(name)}: ${start} one of ${METRIC_IDS.join(', ')}${end}${didYouMean(name, [...METRIC_IDS, ...own])}`,
  );
}
