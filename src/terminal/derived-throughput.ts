import type { Deployment } from '../judge/deployment.ts';
import { formatNumber } from './numbers.ts';

export function isDerived({ throughputFrom }: Pick<Deployment, 'throughputFrom'>): boolean {
  return throughputFrom === 'medianLatency';
}

/** The `~` says that nobody counted it. */
export function derivedText(one: Pick<Deployment, 'throughputFrom'>, value: number | null, digits?: number): string {
  return `${isDerived(one) ? '~' : ''}${formatNumber(value, digits)}`;
}

export const DERIVED_LEGEND =
  '~ the harness counts no throughput: it is what the median latency of one query at a time comes to';
