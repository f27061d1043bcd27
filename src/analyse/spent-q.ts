/** Share of false calls that all looks at growing data may cost together. */
const ALL_LOOKS_Q = 0.03;

/**
 * The share that the k-th look may spend when a comparison is looked at again and again while runs come in: the shares
 * of all looks add up to 3 %, however many there are, so that looking more often calls no more false ones (alpha
 * spending, Lan and DeMets 1983, with the union bound: 1/(1*2) + 1/(2*3) + ... = 1).
 * @param look counts from 1
 */
export function spentQ(look: number): number {
  return ALL_LOOKS_Q / (look * (look + 1));
}
