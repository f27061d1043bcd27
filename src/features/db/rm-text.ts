import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import type { RmOutput } from './output.ts';

export function rmText({ dryRun, findings, judgedAgain, reopened, sweeps }: RmOutput, look: Look): string[] {
  const goes = dryRun ? 'would go' : 'went';
  const restored = sweeps.flatMap(({ movedTo }) => movedTo ?? []);
  return [
    ...sweeps.map((sweep) => look.style.strong(sweepLine(sweep, goes))),
    ...findings.map((finding) => findingLine(finding, goes)),
    ...reopened.map(
      (id) => `finding ${id.slice(0, 8)} ${dryRun ? 'would be' : 'is'} open again: a later sweep had ended it`,
    ),
    ...(judgedAgain === 0
      ? []
      : [`the next \`bench check\` ${dryRun ? 'would judge' : 'judges'} ${count(judgedAgain, 'later sweep')} again`]),
    ...(dryRun
      ? ['nothing was changed']
      : restored.map((path) => `to bring it back: \`bench import ${shellQuote(path)}\``)),
  ];
}

function sweepLine({ name, runs, sharedRuns, startedAt, sweepId }: RmOutput['sweeps'][number], goes: string): string {
  const when = startedAt === null ? '' : ` of ${startedAt.slice(0, 16).replace('T', ' ')}`;
  const what = name === null ? '' : `, ${printable(name)}`;
  const shared =
    sharedRuns === 0 ? '' : `; artefacts of ${count(sharedRuns, 'run')} stay: another store in this folder has them`;
  return `sweep ${sweepId.slice(0, 8)}${when}${what}, ${count(runs, 'run')}: ${goes}${shared}`;
}

function findingLine(
  { acknowledged, cells, changePercent, direction, id }: RmOutput['findings'][number],
  goes: string,
): string {
  const change = changePercent === null ? '' : ` by ${formatPercent(Math.abs(changePercent), false)}`;
  return `finding ${id.slice(0, 8)}, ${direction}${change} in ${count(cells, 'cell')}: ${goes}${markText(acknowledged)}`;
}

function markText(mark: RmOutput['findings'][number]['acknowledged']): string {
  if (mark === null) return '';
  const by = mark.owner === null ? '' : ` by ${printable(mark.owner)}`;
  const until = mark.until === null ? '' : `, until ${printable(mark.until)}`;
  return `, with its acknowledgement${by}${until}: ${printable(mark.reason)}`;
}
