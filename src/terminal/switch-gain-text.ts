import { type Switch, type SwitchedCell, switchGains, type SwitchPair } from '../judge/summarize-cells.ts';
import { cellLabel } from '../records/cell-label.ts';
import { printable } from '../text/printable.ts';
import { type Look, wrapHanging } from './look.ts';
import { count, formatMs, formatPercent, intervalText } from './numbers.ts';

interface GainRow extends SwitchedCell {
  readonly throughputFrom: 'counted' | 'medianLatency';
  readonly measured: number;
}

const MOST_LINES = 6;

const TEXTS = {
  cudaGraph: { gains: 'a CUDA graph gains', with: 'a CUDA graph' },
  dataTransfers: { gains: 'transfers:', with: 'transfers' },
  neighbor: { gains: 'a neighbor on the GPU:', with: 'a neighbor' },
} as const satisfies Readonly<Record<Switch, unknown>>;

/** Lines about the gain of CUDA graphs or the cost of transfers, for cells measured both ways. */
export function switchGainLines(cells: readonly GainRow[], by: Switch, { columns, style }: Look): string[] {
  const words = TEXTS[by];
  const gains = (from: GainRow['throughputFrom']) =>
    switchGains(
      cells.filter(({ throughputFrom }) => throughputFrom === from),
      by,
    );
  const [counted, timed] = [gains('counted'), gains('medianLatency')];
  const [most] = counted?.pairs ?? [];
  const texts = (timed?.pairs ?? []).slice(0, MOST_LINES).map((pair) => latencyText(pair, words.with));
  const others = (timed?.pairs.length ?? 0) - texts.length;
  if (others > 0) texts.push(`  and ${count(others, 'pair')} more with and without ${words.with}`);
  if (counted !== null && most !== undefined) {
    const { ciPercent, gainPercent, latencyChangePercent, verdict } = most;
    const [middle, pairs] = [formatPercent(counted.medianPercent), count(counted.pairs.length, 'pair')];
    const typical = counted.pairs.length > 1 ? `${middle} queries/s in the middle of ${pairs}, most ` : '';
    const sure = ciPercent === null ? verdict : `${intervalText(ciPercent)}, 95 %: ${verdict}`;
    const isShown = by !== 'cudaGraph' && latencyChangePercent !== null;
    const latency = isShown ? ` and ${formatPercent(latencyChangePercent)} latency` : '';
    const gain = `${formatPercent(gainPercent)} queries/s (${sure})${latency}`;
    texts.unshift(`  ${words.gains} ${typical}${gain}: ${printable(cellLabel(most.with.cell))}`);
  }
  return texts.flatMap((text) => wrapHanging(text, columns, 4)).map(style.dim);
}

/** Text for a pair with latencies only, with its certainty. */
function latencyText(pair: SwitchPair<GainRow>, withIt: string): string {
  const { without, with: graph, latencyChangePercent, verdict } = pair;
  const change = `${formatPercent(latencyChangePercent)} (${formatMs(without.latencyMs)} → ${formatMs(graph.latencyMs)})`;
  const isSingle = without.measured === 1 && graph.measured === 1;
  const caveat = verdict === 'unclear' && isSingle ? ', one run per side' : '';
  return `  with ${withIt} the median latency changes by ${change}: ${verdict}${caveat}: ${printable(cellLabel(graph.cell))}`;
}
