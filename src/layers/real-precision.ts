import type { Cell } from '../records/cell.ts';
import type { LayerFacts } from './layer-facts.ts';
import { parseTactic } from './layer-name.ts';

export function sumMs(layers: readonly LayerFacts[]): number {
  return layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
}

/** Types that an engine computes in: shares from 0 to 1 by `fp32 fp16 bf16 fp8 int8 …`. */
export type RealPrecision = ReturnType<typeof realPrecision>;

/** Actual precisions of an engine, without copies, casts and shape work. */
export function realPrecision(layers: readonly LayerFacts[]) {
  const computing = layers.filter(({ kind }) => kind === 'compute');
  const byType = [...Map.groupBy(computing, computedIn)];
  const totalMs = sumMs(computing);
  const sharesOf = (share: (members: readonly LayerFacts[]) => number): Record<string, number> =>
    Object.fromEntries(byType.map(([type, members]) => [type, share(members)]));
  return {
    /** Shares of the time in compute layers; empty without a profile. */
    timeShares: totalMs > 0 ? sharesOf((members) => sumMs(members) / totalMs) : {},
    /** Shares of the number of compute layers. */
    layerShares: sharesOf((members) => members.length / computing.length),
  };
}

/** In the names of kernels; `bf16` and `tf32` are their own. */
const OPERANDS: Readonly<Record<string, string>> = {
  e4m3: 'fp8',
  e5m2: 'fp8',
  i8: 'int8',
  s8: 'int8',
  f16: 'fp16',
  f32: 'fp32',
};

/**
 * The type that a layer computes in: for matrix products from the kernel name, for other layers from the input type.
 */
export function computedIn({ tactic, precisionIn }: LayerFacts): string {
  const types = tactic === null ? null : parseTactic(tactic).types;
  const operand = types === null ? null : (/^(e4m3|e5m2|bf16|tf32|f16|f32|i8|s8)/.exec(types)?.[1] ?? null);
  if (operand !== null) return OPERANDS[operand] ?? operand;
  if (tactic !== null && /int8int8|i8816|_i8i8/.test(tactic)) return 'int8';
  return precisionIn ?? 'unknown';
}

/** Precisions that occur only where a tool or the builder chose them. */
const LOWERED: readonly Cell['precision'][] = ['fp16', 'bf16', 'fp8', 'int8', 'int4'];

/** Half of the time. The FP8 and INT8 networks of the recordings reach 61 to 94 %. */
export const LEAST_PRECISION_SHARE = 0.5;

/**
 * The share of an engine that computes in the precision in the name of its cell.
 * @param least share of the time, or of the layers without a profile, for which the cell deserves its name
 * @returns null for precisions that every network has, and if the types of the engine are unknown
 */
export function precisionShare({ precision }: Cell, real: RealPrecision | null, least: number) {
  if (real === null || !LOWERED.includes(precision)) return null;
  const { timeShares, layerShares } = real;
  const knowsTypes = Object.keys(layerShares).some((type) => type !== 'unknown');
  if (!knowsTypes) return null;
  const timeShare = Object.keys(timeShares).length === 0 ? null : (timeShares[precision] ?? 0);
  const layerShare = layerShares[precision] ?? 0;
  return { asked: precision, timeShare, layerShare, isReal: (timeShare ?? layerShare) >= least };
}
