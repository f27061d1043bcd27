import { LEAST_PRECISION_SHARE } from '../../layers/precision-share.ts';
import type { Deployment } from '../../judge/deployment.ts';
import type { Provenance } from '../../records/provenance.ts';
import type { Sweep } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';
import { formatDecibels, formatPercent } from '../../terminal/numbers.ts';

/** FP32 is what the accuracy of others is measured against. */
function isReference({ cell }: Deployment): boolean {
  return cell.precision === 'fp32';
}

/** `34.2 dB`, or that nobody has checked: no speed of a lossy variant stands without one of them. */
export function accuracyText(deployment: Deployment): string {
  const { accuracy } = deployment;
  if (accuracy === null) return isReference(deployment) ? 'reference' : 'not checked';
  return formatDecibels(accuracy.sqnrDb);
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/**
 * `fp8 62 %` of the time where there is a profile, else of the layers: how much of a quantized deployment is what its name
 * says. `✗` where it is less than half.
 */
export function shareText({ cell, realPrecisionShare }: Deployment): string {
  const { precision } = cell;
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

export function provenanceOf(sweeps: readonly Sweep[]): Provenance | null {
  return sweeps[0]?.provenance ?? null;
}

export function deploymentJson(deployment: Deployment, label: string) {
  const { cell, runsQps, accuracy, realPrecisionShare, ...numbers } = deployment;
  return {
    key: cell.key,
    label,
    model: cell.model,
    precision: cell.precision,
    precisionVia: cell.precisionVia,
    runs: runsQps.length,
    ...numbers,
    accuracy,
    accuracyState: accuracy !== null ? 'checked' : isReference(deployment) ? 'reference' : 'notChecked',
    realPrecisionShare,
  };
}
