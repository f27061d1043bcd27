import type { DerivedValues } from '../../src/trtexec/run-facts.ts';
import type { Facts } from './facts.ts';
import { differs } from './report.ts';

/** Of one part in this many: sums are taken in another order here. */
const PRECISION = 1e-9;

/**
 * Values that follow from what was printed, worked out anew from the text.
 * @param computeMs GPU compute time of each query, in milliseconds; null without the exported times
 */
export function derivedDifferences(
  facts: Facts,
  computeMs: readonly number[] | null,
  derived: DerivedValues,
): string[] {
  const value = (key: string): number | null => {
    const fact = facts.get(key);
    return fact === undefined ? null : Number(fact.text);
  };
  const [qps, walltimeS] = [value('throughputQps'), value('hostWalltimeS')];
  const printed = value('queries');
  const counted = qps === null || walltimeS === null ? null : Math.round(qps * walltimeS);
  const oneStream = (value('streams') ?? 1) === 1;
  const median = value('gpuComputeMs.median');
  const expected: Record<string, number | null> = {
    queries: printed ?? counted,
    enqueueRatio: median === 0 ? null : ratio(value('enqueueMs.median'), median),
    gpuBusy: oneStream ? ratio(value('gpuTotalS'), walltimeS) : null,
  };
  if (computeMs !== null && computeMs.length > 0) {
    const mean = computeMs.reduce((sum, time) => sum + time, 0) / computeMs.length;
    const variance = computeMs.reduce((sum, time) => sum + (time - mean) ** 2, 0) / computeMs.length;
    if (mean > 0) expected['cvPercent'] = (Math.sqrt(variance) / mean) * 100;
  }
  const got = new Map<string, unknown>(Object.entries(derived));
  return Object.entries(expected)
    .filter(([key, wanted]) => !isClose(wanted, got.get(key)))
    .map(([key, wanted]) => differs(`${key}, as it follows from the log`, wanted, got.get(key)));
}

function ratio(above: number | null, below: number | null): number | null {
  return above === null || below === null ? null : above / below;
}

function isClose(wanted: number | null, got: unknown): boolean {
  if (wanted === null || typeof got !== 'number') return wanted === null && got === null;
  return Object.is(wanted, got) || Math.abs(wanted - got) <= PRECISION * Math.abs(wanted);
}
