import { outcomeReason } from '../records/outcome.ts';
import { printable } from '../text/printable.ts';
import type { CellRun } from '../records/run.ts';
import { type Look, truncate, wrapHanging } from './look.ts';
import { REASON_TEXT } from './words.ts';

export type SweepFailure = ReturnType<typeof failureOf>;

type Labelled = Pick<CellRun, 'runId' | 'role' | 'outcome'> & { readonly label: string };

export function failureOf({ runId, role, label, outcome }: Labelled) {
  const kind = outcome.kind === 'failed' ? ('failed' as const) : ('unfit' as const);
  return { runId, role, label, kind, reason: outcomeReason(outcome), evidence: outcome.evidence[0] ?? null };
}

/** Reasons that the section on flags already shows with numbers. */
const FLAGGED: readonly (string | null)[] = ['contended', 'throttled', 'debugTensors'];
const LISTED = 6;
const LONGEST_TEXT = 400;

/** Each kind of failure once: what failed, the first line of evidence, and the next command. */
export function failureSection(failures: readonly SweepFailure[], look: Look): string[] {
  const { style, columns } = look;
  const shown = failures.filter(({ reason }) => !FLAGGED.includes(reason));
  const byReason = Map.groupBy(shown, ({ role, kind, reason, evidence }) =>
    [role, kind, reason, evidence?.text].join('\0'),
  );
  const groups = [...byReason.values()];
  const lines = groups.slice(0, LISTED).flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const { evidence: line, kind, label, reason, role, runId } = first;
    const what = `${printable(label)}${role === 'timed' ? '' : ` (${role})`} ${kind}`;
    const why = reason === null ? '' : `: ${REASON_TEXT[reason]}`;
    const times = same.length === 1 ? '' : ` (${same.length} runs; this is one of them)`;
    const where = line === null || line.line === 0 ? '' : `${line.stream} line ${line.line}: `;
    const evidence =
      line === null ? [] : wrapHanging(`    ${where}${truncate(printable(line.text), LONGEST_TEXT)}`, columns, 4);
    return [
      ...wrapHanging(`  ${what}${why}${times}`, columns, 4).map(kind === 'failed' ? style.bad : style.warn),
      ...evidence,
      style.dim(`    → bench show ${runId.slice(0, 8)}`),
    ];
  });
  const more = groups.length - LISTED;
  return more > 0 ? [...lines, `  and ${more} more: see --json`] : lines;
}
