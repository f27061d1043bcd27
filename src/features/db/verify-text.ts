import { printable } from '../../text/printable.ts';
import { isHarmless, type StoreDamage } from '../../store/verify/damage.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';

export interface VerifyReport {
  readonly path: string;
  readonly isQuick: boolean;
  readonly runs: number;
  readonly sweeps: number;
  readonly found: readonly StoreDamage[];
}

export function verifyJson({ path, isQuick, runs, sweeps, found }: VerifyReport) {
  return {
    schemaVersion: 1,
    path,
    quick: isQuick,
    sweeps,
    runs,
    isDamaged: found.some((one) => !isHarmless(one)),
    found: found.map(({ kind, where, what, advice }) => ({ kind, where, what, advice })),
  };
}

/** One line for each thing, never cut: paths are to be copied. */
export function verifyText(report: VerifyReport, look: Look): string[] {
  const { found, runs, sweeps, isQuick } = report;
  const damages = found.filter((one) => !isHarmless(one));
  const left = found.filter(isHarmless);
  const looked = `${count(sweeps, 'sweep')}, ${count(runs, 'run')}${isQuick ? ', nothing hashed' : ''}`;
  const leftovers = left.filter(({ kind }) => kind === 'leftover').length;
  const tail = leftovers === 0 ? '' : `; ${count(leftovers, 'leftover')} of processes that are gone`;
  const head =
    damages.length === 0
      ? look.style.good(`no damage: ${looked}${tail}`)
      : look.style.bad(`${count(damages.length, 'damage')} found: ${looked}${tail}`);
  const lines = [...damages, ...left].map(
    ({ where, what, advice }) => `  ${printable(where)}: ${printable(what)}; ${printable(advice)}`,
  );
  return [head, ...lines];
}
