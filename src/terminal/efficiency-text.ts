import type { EngineEfficiency } from '../layers/work/efficiency.ts';
import { printable } from '../text/printable.ts';
import { formatNumber, formatPercent } from './numbers.ts';

/** Lines about the use of the GPU, or one line that says why it is unknown. */
export function efficiencyLines(efficiency: EngineEfficiency): string[] {
  const { clockFrom, flops, gpu, knownShare, missing, onnx, peakShare, smClockMhz, tflopsPerS } = efficiency;
  const from = clockFrom === 'measured' ? '' : ', its highest clock, as none was measured';
  const part = knownShare === null || knownShare > 0.995 ? '' : `, counting ${shareText(knownShare)} of the FLOPs`;
  const known = [
    flops === null ? '' : `${formatNumber(flops / 1e9, 3)} GFLOP a query (${printable(onnx ?? '')})`,
    tflopsPerS === null ? '' : `${formatNumber(tflopsPerS, 3)} TFLOP/s`,
    peakShare === null
      ? ''
      : `${shareText(peakShare)} of the dense peak of ${printable(gpu ?? '')} at ${smClockMhz} MHz${from}${part}`,
  ].filter((text) => text !== '');
  return [
    ...(known.length === 0 ? [] : [known.join(', ')]),
    ...(missing.length === 0 ? [] : [`share of the peak not known: ${missing.map(printable).join('; ')}`]),
  ];
}

function shareText(share: number): string {
  return formatPercent(share * 100, false);
}
