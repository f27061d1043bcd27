import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { CheckedFinding } from './output.ts';

const SHOWN_COMMITS = 5;

const CAUSES: Readonly<Record<string, string>> = {
  engine: 'the engine: the last good one is faster now, too',
  buildLuck: 'luck of the build: the same sources, other tactics',
  environment: 'the environment',
  version: 'another version of TensorRT',
};

/** What speaks for a finding, and what changed with it. */
export function causeLines(finding: CheckedFinding, look: Look): string[] {
  const { buildChanges, cause, environmentChanges, likeliestCause } = finding;
  const lines: string[] = [];
  if (cause !== null) lines.push(`cause: ${CAUSES[cause] ?? cause}`);
  if (likeliestCause !== null) {
    const { certainty, explainsPercent, title } = likeliestCause;
    const share = explainsPercent === null ? '' : `, accounts for ${formatPercent(explainsPercent, false)}`;
    lines.push(`likeliest cause: ${printable(title)} (${certainty}${share})`);
  }
  // What the likeliest cause names already is not said again.
  const changes = [...environmentChanges, ...buildChanges].filter(
    (change) => likeliestCause === null || !likeliestCause.title.includes(change),
  );
  const warned =
    changes.length === 0 ? [] : [`in the same sweep, and likelier than a commit: ${printable(changes.join('; '))}`];
  const wrapped = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => wrapHanging(`  ${text}`, look.columns, 4));
  return [...wrapped(lines), ...wrapped(warned).map(look.style.warn), ...commitLines(finding, look)];
}

/** What confirms a finding, or how likely it lasts; untrusted texts are not in it. */
export function evidenceOf({ confirmedBy, pairs, probability, state }: CheckedFinding): string[] {
  if (pairs !== null) {
    const { agreeing, changePercent, count: of } = pairs;
    return [`${agreeing} of ${count(of, 'pair')} with the last good engine, ${formatPercent(changePercent)}`];
  }
  if (state === 'suspected') {
    return probability === null ? [] : [`a probability of ${formatPercent(100 * probability, false)} that it lasts`];
  }
  if (confirmedBy === 'history') return ['its history'];
  return confirmedBy === 'previousSweep' ? ['comparison with the previous sweep'] : [];
}

function commitLines({ commits, firstBad, isNew, lastGood }: CheckedFinding, { columns, style }: Look): string[] {
  if (lastGood === null || firstBad === null || !isNew) return [];
  const [good, bad] = [lastGood.commit?.slice(0, 8), firstBad.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) {
    return [`  last good sweep ${lastGood.sweepId.slice(0, 8)}, first bad ${firstBad.sweepId.slice(0, 8)}`];
  }
  if (good === bad) return [`  both sweeps measured commit ${good}: no commit did this`];
  const number = commits.length === 0 ? '' : ` (${count(commits.length, 'commit')})`;
  const more = commits.length - SHOWN_COMMITS;
  const own = commits.find(({ commit }) => commit.startsWith(bad));
  const first = own === undefined ? bad : `${bad} "${printable(own.subject)}"`;
  return [
    ...wrapHanging(`  first bad ${first}, last good ${good}${number}`, columns, 4),
    ...(commits.length < 2 ? [] : commits)
      .slice(0, SHOWN_COMMITS)
      .map(({ commit, subject }) => style.dim(truncate(`    ${commit.slice(0, 8)} ${printable(subject)}`, columns))),
    ...(more > 0 ? [style.dim(`    and ${more} more: git log ${good}..${bad}`)] : []),
  ];
}
