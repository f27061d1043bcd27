import { printable } from '../../text/printable.ts';
import { isHarmless } from '../../store/verify/damage.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import type { VerifyOutput } from './output.ts';

/** One line for each thing, never cut: paths are to be copied. */
export function verifyText({ found, runs, sweeps, quick }: VerifyOutput, look: Look): string[] {
  const damages = found.filter((one) => !isHarmless(one));
  const left = found.filter(isHarmless);
  const looked = `${count(sweeps, 'sweep')}, ${count(runs, 'run')}${quick ? ', nothing hashed' : ''}`;
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
