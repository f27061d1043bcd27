import type { Cell } from '../records/cell.ts';
import type { RealPrecision } from './real-precision.ts';

/** How much of an engine computes in the precision that its cell is named after. */
export interface PrecisionShare {
  readonly asked: Cell['precision'];
  /** Of the time in layers that compute, from 0 to 1; null without a profile. */
  readonly timeShare: number | null;
  /** Of the layers that compute. */
  readonly layerShare: number;
  /** False below the least share: the cell is not really what its name says. */
  readonly isReal: boolean;
}

/** Precisions that a network has only where a tool or the builder put them. */
const LOWERED: readonly Cell['precision'][] = ['fp16', 'bf16', 'fp8', 'int8', 'int4'];

/** Half of the time: the FP8 and INT8 networks of the recordings have 61 to 94 %. */
export const LEAST_PRECISION_SHARE = 0.5;

/** @returns null for precisions that every network has, and where the engine does not tell its types */
export function precisionShare({ precision }: Cell, real: RealPrecision | null, least: number): PrecisionShare | null {
  if (real === null || !LOWERED.includes(precision)) return null;
  const { timeShares, layerShares } = real;
  const knowsTypes = Object.keys(layerShares).some((type) => type !== 'unknown');
  if (!knowsTypes) return null;
  const timeShare = Object.keys(timeShares).length === 0 ? null : (timeShares[precision] ?? 0);
  const layerShare = layerShares[precision] ?? 0;
  return { asked: precision, timeShare, layerShare, isReal: (timeShare ?? layerShare) >= least };
}
