import { incompleteBeta } from './special-functions.ts';

/**
 * Two-sided p-value of the exact sign test: a number of positive ones among all, where either sign is as likely.
 * @param trials without ties; 1 when there are none
 */
export function signTestP(positive: number, trials: number): number {
  const most = Math.max(positive, trials - positive);
  // The upper tail of the binomial: Abramowitz and Stegun 1964, 26.5.24.
  return trials === 0 ? 1 : Math.min(1, 2 * incompleteBeta(most, trials - most + 1, 0.5));
}
