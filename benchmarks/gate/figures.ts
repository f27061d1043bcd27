import type { Row, Target } from '../row.ts';

interface Share {
  readonly what: string;
  readonly against: string;
  readonly count: number;
  readonly of: number;
  readonly target: Target | null;
  readonly theirs?: string;
}

/** A share in percent. */
export function share({ what, against, count, of, target, theirs = '' }: Share): Row {
  return {
    kind: 'measured',
    what,
    against,
    ratio: (100 * count) / of,
    unit: ' %',
    target,
    ours: `${count} of ${of}`,
    theirs,
  };
}
