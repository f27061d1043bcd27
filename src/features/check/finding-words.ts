import { gatedMetricOf } from '../../records/gated-metric.ts';
import { count, formatPercent, intervalText, shareText } from '../../terminal/numbers.ts';
import { changeText, directionText, isOfSpeed } from './change-text.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';

type Change = CheckedFinding['details'][number];

/** Of each cell the metric by which it is shown, the clearest cell first. */
export function firstOfEach({ details }: Pick<CheckedFinding, 'details'>): Change[] {
  return [...Map.groupBy(details, ({ key }) => key).values()].flatMap(([first]) => first ?? []);
}

/** What happened to the cells of some findings of one kind: `slower`, ` by 4.9 to 5.3 %`. */
export function sizeText(findings: readonly CheckedFinding[]): readonly [direction: string, size: string] {
  const [finding] = findings;
  if (finding === undefined) return ['', ''];
  const changes = findings.flatMap(firstOfEach);
  const own = changes.filter(({ metric }) => metric === changes[0]?.metric);
  const size = rangeText(own);
  const isLimit = findings.every(({ kind }) => kind === 'limit');
  const direction = isLimit ? 'beyond a limit' : directionText(finding);
  // Without a percentage, and of `worse`, the metric says what it is.
  if (changes[0] !== undefined && (size.includes('→') || (!isLimit && !isOfSpeed(finding)))) {
    return [direction, `: ${gatedMetricOf(changes[0].metric).label} ${rangeText(own, true)}`];
  }
  return [direction, size === '' ? '' : ` by ${size}`];
}

/** `15.8 to 25.5 %` of one metric in several cells, without a sign, if the words next to it say the direction. */
export function rangeText(
  changes: readonly Pick<Change, 'metric' | 'changePercent' | 'before' | 'after'>[],
  isSigned = false,
): string {
  const sorted = changes.toSorted((a, b) => Math.abs(a.changePercent) - Math.abs(b.changePercent));
  const [least = '', most = ''] = [sorted[0], sorted.at(-1)].map((change) => {
    const text = change === undefined ? '' : changeText(change);
    return isSigned ? text : text.replace(/^[+-](?=\d)/, '');
  });
  if (least === most || least.includes('→')) return most;
  return `${least.replace(/ %$/, '')} to ${most}`;
}

/** What shows that a finding lasts, and the size of its clearest cell; untrusted texts are not in it. */
export function evidenceOf(
  { cells, details, firstBad, lastBad, lasts, pairs }: CheckedFinding,
  sweeps: readonly { readonly sweepId: string }[],
): string[] {
  const [from = -1, last = -1] = [firstBad, lastBad].map((edge) =>
    sweeps.findIndex(({ sweepId }) => sweepId === edge?.sweepId),
  );
  const number = (last === -1 ? sweeps.length : last + 1) - from;
  const interval = intervalText(details[0]?.ciPercent ?? null);
  const paired = pairs?.cells ?? [];
  const where =
    paired.length === 0 || paired.length === cells.length ? '' : ` in ${paired.length} of its ${cells.length} cells`;
  const own =
    pairs?.outcome === 'notComparable'
      ? 'no pair that could be compared with the last good engine'
      : pairs !== null
        ? `${pairs.agreeing} of ${count(pairs.count, 'pair')} with the last good engine${where} (${formatPercent(pairs.changePercent)} in the middle)`
        : null;
  return [
    ...(own === null ? [] : [own]),
    ...(from < 0 || number < 2 ? [] : [`${number} sweeps${lasts === 'history' ? ', a lasting level' : ''}`]),
    ...(interval === '' ? [] : [`95 % interval ${interval} in its clearest cell`]),
  ];
}

const CAUSES: Readonly<Record<string, string>> = {
  engine: 'the engine: the last good one is faster now, too',
  machine: 'the machine: the last good engine is as slow now',
  buildLuck: 'luck of the build: the same sources, other tactics',
  environment: 'the environment',
  version: 'another version of TensorRT',
};

/** What caused a finding, as far as it is known, and what changed with it; what is said is untrusted. */
export function causesOf(finding: CheckedFinding): (readonly [term: string, says: string])[] {
  const { buildChanges, cause, environmentChanges, likeliestCause: likeliest } = finding;
  const share = likeliest === null ? '' : shareText(likeliest, ', accounts for');
  // What the likeliest cause names already is not said again.
  const changes = [...environmentChanges, ...buildChanges].filter(
    (change) => likeliest?.title.includes(change) !== true,
  );
  return [
    // Of the environment the likeliest cause says more.
    ...(cause === null || cause === likeliest?.kind ? [] : [['cause', CAUSES[cause] ?? cause] as const]),
    ...(likeliest === null
      ? []
      : [['likeliest cause', `${likeliest.title} (${likeliest.certainty}${share})`] as const]),
    ...(changes.length === 0 ? [] : [['in the same sweep', `${changes.join('; ')} (likelier than a commit)`] as const]),
  ];
}

/** What the first sweep or commit of a finding is called, and the last one before it. */
export function edgeWords({ direction }: Pick<CheckedFinding, 'direction'>): {
  readonly first: string;
  readonly last: string;
} {
  return direction === 'faster'
    ? { first: 'first faster', last: 'last before' }
    : { first: 'first bad', last: 'last good' };
}

/** The clearest change of a finding whose cell is in no other one: its history has one step. Else its clearest. */
export function ownClearest<Detail extends { readonly key: string }>(
  finding: CheckedFinding,
  details: readonly Detail[],
  all: readonly CheckedFinding[],
): Detail | undefined {
  const others = new Set(all.filter((one) => one.id !== finding.id).flatMap(({ cells }) => cells));
  return details.find(({ key }) => !others.has(key)) ?? details[0];
}

/** What to type next about a finding of a series. */
export function nextCommands(
  { cause, direction, firstBad, id, kind, lastGood, lasts, pairs, state }: CheckedFinding,
  { canConfirm, sweepId }: Pick<CheckedSeries, 'canConfirm' | 'sweepId'>,
): string[] {
  const [good, bad] = [lastGood?.sweepId.slice(0, 8), firstBad?.sweepId.slice(0, 8)];
  const isExplained = kind !== 'limit' && cause !== 'machine' && good !== undefined && bad !== undefined;
  const isUnpaired = state === 'new' && lasts === null && pairs === null && direction === 'slower';
  return [
    ...(isUnpaired && canConfirm ? [`bench run --resume ${sweepId.slice(0, 8)} --confirm`] : []),
    ...(isExplained ? [`bench why ${id.slice(0, 8)}`, `bench compare ${good} ${bad}`] : []),
    // What got faster, or is over, needs no excuse.
    ...(direction === 'slower' && (state === 'new' || state === 'open')
      ? [`bench ack ${id.slice(0, 8)} --reason "…"`]
      : []),
  ];
}
