import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { causesOf, edgeWords } from './finding-words.ts';
import type { CheckedFinding } from './output.ts';

const SHOWN_COMMITS = 5;

/** What speaks for a finding, and what changed with it. */
export function causeLines(finding: CheckedFinding, look: Look): string[] {
  const causes = causesOf(finding).flatMap(([term, says]) =>
    wrapHanging(`  ${term}: ${printable(says)}`, look.columns, 4),
  );
  return [...causes, ...commitLines(finding, look)];
}

function commitLines(finding: CheckedFinding, { columns, style }: Look): string[] {
  const { cause, commits, firstBad, lastGood } = finding;
  // A slow machine is nobody's commit.
  if (lastGood === null || firstBad === null || cause === 'machine') return [];
  const edge = edgeWords(finding);
  const [good, bad] = [lastGood.commit?.slice(0, 8), firstBad.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) {
    return [`  ${edge.last} sweep ${lastGood.sweepId.slice(0, 8)}, ${edge.first} ${firstBad.sweepId.slice(0, 8)}`];
  }
  if (good === bad) return [`  both sweeps measured commit ${good}: no commit did this`];
  const number = commits.length === 0 ? '' : ` (${count(commits.length, 'commit')})`;
  const more = commits.length - SHOWN_COMMITS;
  const own = commits.find(({ commit }) => commit.startsWith(bad));
  const first = own === undefined ? bad : `${bad} "${printable(own.subject)}"`;
  return [
    ...wrapHanging(`  ${edge.first} ${first}, ${edge.last} ${good}${number}`, columns, 4),
    ...(commits.length < 2 ? [] : commits)
      .slice(0, SHOWN_COMMITS)
      .map(({ commit, subject }) => style.dim(truncate(`    ${commit.slice(0, 8)} ${printable(subject)}`, columns))),
    ...(more > 0 ? [style.dim(`    and ${more} more: git log ${good}..${bad}`)] : []),
  ];
}
