import { type Switch, type SwitchedCell, switchGains } from '../judge/summarize-cells.ts';
import { cellLabel } from '../records/cell-label.ts';
import { printable } from '../text/printable.ts';
import { type Look, wrapHanging } from './look.ts';
import { count, formatPercent, intervalText } from './numbers.ts';

interface GainRow extends SwitchedCell {
  readonly throughputFrom: 'counted' | 'medianLatency';
}

const WORDS = {
  cudaGraph: 'a CUDA graph gains',
  dataTransfers: 'transfers:',
  neighbor: 'a neighbor on the GPU:',
} as const satisfies Readonly<Record<Switch, string>>;

/** Lines about the gain of CUDA graphs or the cost of transfers, for cells measured both ways. */
export function switchGainLines(cells: readonly GainRow[], by: Switch, { columns, style }: Look): string[] {
  const isCounted = ({ throughputFrom }: GainRow): boolean => throughputFrom === 'counted';
  const gains = switchGains(cells.filter(isCounted), by);
  const [most] = gains?.pairs ?? [];
  if (gains === null || most === undefined) return [];
  const { ciPercent, gainPercent, latencyChangePercent, verdict } = most;
  const [middle, pairs] = [formatPercent(gains.medianPercent), count(gains.pairs.length, 'pair')];
  const typical = gains.pairs.length > 1 ? `${middle} queries/s in the middle of ${pairs}, most ` : '';
  const sure = ciPercent === null ? verdict : `${intervalText(ciPercent)}, 95 %: ${verdict}`;
  const isShown = by !== 'cudaGraph' && latencyChangePercent !== null;
  const latency = isShown ? ` and ${formatPercent(latencyChangePercent)} latency` : '';
  const gain = `${formatPercent(gainPercent)} queries/s (${sure})${latency}`;
  const text = `  ${WORDS[by]} ${typical}${gain}: ${printable(cellLabel(most.with.cell))}`;
  return wrapHanging(text, columns, 4).map(style.dim);
}
