import type { EngineEfficiency } from '../layers/work/efficiency.ts';
import { printable } from '../text/printable.ts';
import { formatNumber, formatPercent } from './numbers.ts';

/** Least share of the time that is mentioned. */
const NOTABLE = 0.1;

/** Lines about the use of the GPU, or one line that says why it is unknown. */
export function efficiencyLines(efficiency: EngineEfficiency): string[] {
  const { clockFrom, flops, gpu, knownShare, missing, onnx, peakShare, smClockMhz, tflopsPerS, timeShares } =
    efficiency;
  const from = clockFrom === 'measured' ? '' : ', its highest clock, as none was measured';
  const part = knownShare === null || knownShare > 0.995 ? '' : `, counting ${shareText(knownShare)} of the FLOPs`;
  const known = [
    ...(flops === null ? [] : [`${formatNumber(flops / 1e9, 3)} GFLOP a query (${printable(onnx ?? '')})`]),
    ...(tflopsPerS === null ? [] : [`${formatNumber(tflopsPerS, 3)} TFLOP/s`]),
    ...(peakShare === null
      ? []
      : [`${shareText(peakShare)} of the dense peak of ${printable(gpu ?? '')} at ${smClockMhz} MHz${from}${part}`]),
  ];
  return [
    ...(known.length === 0 ? [] : [known.join(', ')]),
    ...(timeShares === null
      ? []
      : [
          `roofline: ${shareText(timeShares.compute)} of the time in layers on the side of compute, ${shareText(timeShares.memory)} on that of memory`,
          ...(timeShares.farBelow < NOTABLE
            ? []
            : [
                `${shareText(timeShares.farBelow)} of the time in layers below a tenth of both roofs: bound by neither, too small for the GPU or waiting`,
              ]),
        ]),
    ...(missing.length === 0 ? [] : [`share of the peak not known: ${missing.map(printable).join('; ')}`]),
  ];
}

/** Text of a share from 0 to 1. */
function shareText(share: number): string {
  return formatPercent(share * 100, false);
}
