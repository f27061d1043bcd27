/**
 * The share of false calls that the k-th look may spend when a comparison is looked at again and again while runs come
 * in: the shares of all looks add up to `total`, however many there are, so that looking more often calls no more
 * false ones (alpha spending, Lan and DeMets 1983, with the union bound: 1/(1*2) + 1/(2*3) + ... = 1).
 * @param look counts from 1
 */
export function spentQ(look: number, total = 0.03): number {
  return total / (look * (look + 1));
}
