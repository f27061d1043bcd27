import { type GraphCell, graphGains, type GraphPair } from '../judge/graph-pairs.ts';
import { cellLabel } from '../text/cell-label.ts';
import { printable } from '../text/printable.ts';
import type { Look } from './look.ts';
import { count, formatMs, formatPercent } from './numbers.ts';
import { wrapHanging } from './text-width.ts';

interface GainRow extends GraphCell {
  readonly throughputFrom: 'counted' | 'medianLatency';
  readonly measured: number;
}

const MOST_LINES = 6;

export function graphGainLines(cells: readonly GainRow[], { columns, style }: Look): string[] {
  const counted = graphGains(cells.filter(({ throughputFrom }) => throughputFrom === 'counted'));
  const timed = graphGains(cells.filter(({ throughputFrom }) => throughputFrom !== 'counted'));
  const [most] = counted?.pairs ?? [];
  const texts = (timed?.pairs ?? []).slice(0, MOST_LINES).map(latencyText);
  const others = (timed?.pairs.length ?? 0) - texts.length;
  if (others > 0) texts.push(`  and ${count(others, 'pair')} more with and without a CUDA graph`);
  if (counted !== null && most !== undefined) {
    const typical =
      counted.pairs.length > 1
        ? `${formatPercent(counted.medianPercent)} queries/s in the middle of ${count(counted.pairs.length, 'pair')}, most `
        : '';
    texts.unshift(
      `  a CUDA graph gains ${typical}${formatPercent(most.gainPercent)} queries/s: ${printable(cellLabel(most.with.cell))}`,
    );
  }
  return texts.flatMap((text) => wrapHanging(text, columns, 4)).map(style.dim);
}

/** Where only latencies are known each pair is reported, with how sure that is. */
function latencyText({ without, with: graph, latencyChangePercent, verdict }: GraphPair<GainRow>): string {
  const change = `${formatPercent(latencyChangePercent)} (${formatMs(without.latencyMs)} → ${formatMs(graph.latencyMs)})`;
  const isSingle = without.measured === 1 && graph.measured === 1;
  const caveat = verdict === 'unclear' && isSingle ? ', one run per side' : '';
  return `  with a CUDA graph the median latency changes by ${change}: ${verdict}${caveat}: ${printable(cellLabel(graph.cell))}`;
}
