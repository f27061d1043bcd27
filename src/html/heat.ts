/** Percent at which the scale of the heat maps ends, on both sides: one shade a percent. */
export const HEAT_END = 5;

/** Class of a square. @param percent of change; its direction is `isWorse` */
export function heatClass(percent: number, isWorse: boolean): string {
  const depth = Math.min(HEAT_END, Math.round(Math.abs(percent)));
  return depth === 0 ? 'h0' : `${isWorse ? 'worse' : 'better'}${depth}`;
}
