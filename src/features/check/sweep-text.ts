import type { Look } from '../../terminal/look.ts';
import type { CheckedSweep } from './checked-series.ts';
import { pictureOf } from './picture.ts';
import { checkText } from './text.ts';

/** What `bench check` prints of one sweep. */
export function checkedSweepText({ findings, judged, series }: CheckedSweep, look: Look): string[] {
  const pictures = new Map([[series.sweepId, pictureOf(judged.evidence)]]);
  return checkText({ series: [series], findings }, { pictures, isAll: false }, look);
}
