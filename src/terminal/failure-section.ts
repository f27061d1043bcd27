import { outcomeReason, type Outcome } from '../records/outcome.ts';
import { printable } from '../text/printable.ts';
import type { RunRole } from '../records/run.ts';
import type { Look } from './look.ts';
import { REASON_TEXT } from './outcome-text.ts';
import { wrapHanging } from './text-width.ts';

/** A run or a build that is no measurement, with the first line that says why. */
export interface SweepFailure {
  readonly runId: string;
  readonly role: RunRole;
  /** Of its cell, or of what was built. */
  readonly label: string;
  readonly outcome: Outcome;
}

export function failuresJson(failures: readonly SweepFailure[]) {
  return failures.map(({ runId, role, label, outcome }) => ({
    runId,
    role,
    label,
    kind: outcome.kind,
    reason: outcomeReason(outcome),
    evidence: outcome.evidence[0] ?? null,
  }));
}

/** What the machine did to a run stands among the flags, with its numbers. */
const FLAGGED: readonly (string | null)[] = ['contended', 'throttled', 'debugTensors'];
const LISTED = 6;
/** Of the many that fail alike one is named. */
const LONGEST_LINES = 2;

/** Each kind of failure once: what failed, the line of the log that says why, and the command that shows more. */
export function failureSection(failures: readonly SweepFailure[], look: Look): string[] {
  const { style, columns } = look;
  const told = failures.filter(({ outcome }) => !FLAGGED.includes(outcomeReason(outcome)));
  const alike = Map.groupBy(told, ({ role, outcome }) =>
    [role, outcome.kind, outcomeReason(outcome), outcome.evidence[0]?.text].join('\0'),
  );
  const groups = [...alike.values()];
  const lines = groups.slice(0, LISTED).flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const times = same.length === 1 ? '' : ` (${same.length} runs, one of them)`;
    const colored = first.outcome.kind === 'failed' ? style.bad : style.warn;
    const [said] = first.outcome.evidence;
    const where = said === undefined || said.line === 0 ? '' : `${said.stream} line ${said.line}: `;
    const evidence = said === undefined ? [] : wrapHanging(`    ${where}${printable(said.text)}`, columns, 4);
    return [
      ...wrapHanging(`  ${failureTitle(first)}${times}`, columns, 4).map(colored),
      ...evidence.slice(0, LONGEST_LINES),
      style.dim(`    → bench show ${first.runId.slice(0, 8)}`),
    ];
  });
  const more = groups.length - LISTED;
  return more > 0 ? [...lines, `  and ${more} more: see --json`] : lines;
}

/** `plugin fp16 (build) failed: TensorRT does not know …`. */
function failureTitle({ label, role, outcome }: SweepFailure): string {
  const what = role === 'timed' ? '' : ` (${role})`;
  const reason = outcomeReason(outcome);
  const why = reason === null ? '' : `: ${REASON_TEXT[reason]}`;
  return `${printable(label)}${what} ${outcome.kind}${why}`;
}
