import { explainChange } from './explain-change.ts';
import { EXPLAINED_METRICS, type FirstCause, firstCause } from '../../records/cause.ts';
import type { MetricId } from '../../records/metric.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type WhyPoint, whySides } from './why-sides.ts';

/**
 * The likeliest cause of a change that was called already; null when nothing explains it, or the metric is not one of
 * those that causes are known for.
 */
export function firstCauseOf(db: StoreDatabase, base: WhyPoint, head: WhyPoint, metric: MetricId): FirstCause | null {
  if (!isOneOf(EXPLAINED_METRICS, metric)) return null;
  return firstCause(explainChange(whySides(db, base, head), metric, true));
}
