import type { Verdict } from '../records/verdict.ts';
import type { Style } from './look.ts';

/** Each verdict has a sign of its own, so that none is told by colour alone. */
export const VERDICT_SIGNS: Readonly<Record<Verdict, string>> = {
  slower: '▲',
  faster: '▼',
  same: '=',
  unclear: '?',
  missing: '∅',
  failed: '✗',
  incomparable: '≠',
};

export function verdictStyle(verdict: Verdict, style: Style): (text: string) => string {
  switch (verdict) {
    case 'slower':
    case 'failed':
      return style.bad;
    case 'faster':
      return style.good;
    case 'unclear':
    case 'incomparable':
      return style.warn;
    default:
      return style.dim;
  }
}
