import { UsageError } from '../errors.ts';
import { isMetric, isOwnMetric, METRIC_IDS, type MetricId, metricOf } from '../records/metric.ts';
import { printable } from '../text/printable.ts';
import { didYouMean } from '../text/nearest.ts';
import { storedMetrics } from '../store/runs/run-facts.ts';
import type { StoreDatabase } from '../store/file/open.ts';

/** So many names fit into a line that somebody reads. */
const SHOWN = 10;

/**
 * The metric that somebody asks for by its name: one of bench's own, or one that a harness in this store measured.
 * @returns null when nobody asks
 * @throws UsageError when there is none of that name, or several
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
