import { LEAST_PRECISION_SHARE } from '../../layers/real-precision.ts';
import type { Sweep } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';
import { formatDecibels, formatPercent } from '../../terminal/numbers.ts';
import type { DeploymentOutput } from './output.ts';

/** `34.2 dB`, or that nobody has checked: no speed of a lossy variant is shown without one of them. */
export function accuracyText({ accuracy, accuracyState }: DeploymentOutput): string {
  if (accuracy === null) return accuracyState === 'reference' ? 'reference' : 'not checked';
  return formatDecibels(accuracy.sqnrDb);
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/**
 * `fp8 62 %` of the time where there is a profile, else of the layers: how much of a quantized deployment is what its name
 * says. `✗` where it is less than half.
 */
export function shareText({ precision, realPrecisionShare }: DeploymentOutput): string {
  if (realPrecisionShare === null || !QUANTIZED.includes(precision)) return '';
  const share = realPrecisionShare[precision] ?? 0;
  const sign = share < LEAST_PRECISION_SHARE ? '✗ ' : '';
  return `${sign}${precision} ${formatPercent(share * 100, false)}`;
}

export function sweepsLine(sweeps: readonly Sweep[]): string {
  return sweeps
    .map(({ sweepId, matrix, name, provenance, recordingSet }) =>
      [
        recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`,
        `sweep ${sweepId.slice(0, 8)}`,
        printable(matrix ?? name ?? ''),
      ]
        .filter((part) => part !== '')
        .join(' · '),
    )
    .join(' + ');
}
