import type { Claims } from './claims.ts';
import { type Facts, figureOf } from './facts.ts';
import { differs } from './report.ts';

export interface Difference {
  /** Of the fact; null when no line says what is claimed. */
  readonly line: number | null;
  readonly what: string;
}

export interface Comparison {
  readonly numbers: number;
  readonly differences: readonly Difference[];
}

/** Both ways: what the text says must be claimed, and what is claimed must stand in the text. */
export function compareFacts(facts: Facts, claims: Claims, claimant = 'the parser'): Comparison {
  const differences: Difference[] = [];
  let numbers = 0;
  for (const [key, { text, line }] of facts) {
    const claimed = claims.get(key);
    if (claimed === undefined) {
      differences.push({ line, what: differs(`${key}, of ${claimant}`, text, undefined) });
    } else if (!isSame(text, claimed)) {
      differences.push({ line, what: differs(`${key}, of ${claimant}`, text, claimed) });
    } else if (typeof claimed === 'number') numbers += 1;
  }
  for (const [key, claimed] of claims) {
    if (facts.has(key)) continue;
    differences.push({
      line: null,
      what: differs(`${key}, of ${claimant}, is nowhere in the log`, undefined, claimed),
    });
  }
  return { numbers, differences };
}

function isSame(text: string, claimed: number | string): boolean {
  if (typeof claimed === 'string') return text === claimed;
  const figure = figureOf(text);
  return figure === claimed || (Number.isNaN(figure) && Number.isNaN(claimed));
}
