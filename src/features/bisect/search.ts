import { type Judged, type SearchResult, type StepVerdict, candidateTurn, endsTurn } from './turns.ts';
import { BenchError, InterruptedError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { count } from '../../terminal/numbers.ts';
import type { Measurements } from './measurements.ts';
import type { Session, BisectState, StoredStep } from './state.ts';
import type { Side } from './side.ts';
import { BrokenSubjectError } from '../../run/checkout/user-command.ts';
import type { Task } from './subject.ts';

type Ends = NonNullable<BisectState['ends']>;

export type SearchEnd =
  | SearchResult
  | { readonly kind: 'notSlower' | 'unclear' }
  /** An end cannot be measured. */
  | { readonly kind: 'failed'; readonly reason: string };

interface Search {
  readonly session: Session;
  readonly task: Task;
  readonly measurements: Measurements;
}

/** Measures and searches until there is an answer; every step is stored. */
export async function searchToTheEnd(session: Session, task: Task, measurements: Measurements): Promise<SearchEnd> {
  const search = { session, task, measurements };
  try {
    const { verdict } = session.state().ends ?? (await judgeEnds(search));
    if (verdict !== 'slower') return { kind: verdict };
    for (;;) {
      const next = task.next(judgedIn(session));
      if (next.kind !== 'test') return next;
      await judge(measurements.sideOf(next.candidate), search);
    }
  } catch (error) {
    if (!(error instanceof BrokenSubjectError)) throw error;
    return { kind: 'failed', reason: error.message };
  } finally {
    await task.close();
    await measurements.settle();
  }
}

function judgedIn({ state }: Session): Judged[] {
  return state().steps.flatMap(({ candidate, verdict }) => (verdict === null ? [] : [{ candidate, verdict }]));
}

async function judgeEnds({ measurements, session, task }: Search): Promise<Ends> {
  for (;;) {
    const ends = measurements.ends();
    const turn = endsTurn(ends);
    if (turn.kind === 'run') {
      await measureEnd(turn.side, measurements);
      continue;
    }
    const { verdict } = turn;
    if (verdict === 'broken') {
      throw new BrokenSubjectError('no run of an end gave a measurement; see bench show latest');
    }
    const judged = { verdict, goodRuns: ends.good.values.length, badRuns: ends.bad.values.length };
    await session.save({ ends: judged });
    const tests = count(task.testsLeft([]), 'test');
    const shown = { slower: `slower; about ${tests} to go`, notSlower: 'not slower', unclear: 'unclear' };
    session.io.err(`the bad end is ${shown[verdict]}\n`);
    return judged;
  }
}

async function judge(side: Side, search: Search): Promise<void> {
  const { session, task } = search;
  const step = await stepOf(side, search);
  const judged = await verdictOf(side, step, search);
  await session.save({ steps: [...session.state().steps.slice(0, -1), { ...step, ...judged }] });
  await side.close();
  const reason = judged.reason === null ? '' : ` (${printable(judged.reason)})`;
  const left = task.testsLeft(judgedIn(session));
  const rest = left === 0 ? '' : `; about ${left} to go`;
  session.io.err(`${judged.verdict}${reason}: ${printable(side.subject.label)}${rest}\n`);
}

/** The step of a candidate: the interrupted one, or a new one. */
async function stepOf({ subject }: Side, { measurements, session }: Search): Promise<StoredStep> {
  const { steps } = session.state();
  const last = steps.at(-1);
  if (last?.candidate === subject.key && last.verdict === null) return last;
  const step = {
    candidate: subject.key,
    goodBefore: measurements.good.runs.length,
    badBefore: measurements.bad.runs.length,
    verdict: null,
    reason: null,
    driftPercent: null,
  };
  await session.save({ steps: [...steps, step] });
  return step;
}

async function verdictOf(
  side: Side,
  { goodBefore, badBefore }: StoredStep,
  { measurements, task }: Search,
): Promise<JudgedStep> {
  for (;;) {
    const turn = candidateTurn({
      ...measurements.ends(),
      ...measurements.candidate(side),
      before: { good: goodBefore, bad: badBefore },
      tests: task.testsLeft([]),
    });
    if (turn.kind === 'decided') {
      const { verdict, driftPercent } = turn;
      return verdict === 'broken' ? broken('no run of it gave a measurement') : { verdict, reason: null, driftPercent };
    }
    // Opened before an end is run: a candidate that cannot be built costs no run.
    const problem = await problemOf(() => side.open());
    if (problem !== null) return broken(problem);
    if (turn.side === 'candidate') {
      const failed = await problemOf(() => measurements.measure(side, side.subject.label));
      if (failed !== null) return broken(failed);
    } else await measureEnd(turn.side, measurements);
  }
}

function measureEnd(end: 'good' | 'bad', measurements: Measurements): Promise<void> {
  return measurements.measure(measurements[end], `${end} end`);
}

type JudgedStep = Pick<StoredStep, 'reason' | 'driftPercent'> & { readonly verdict: StepVerdict };

function broken(reason: string): JudgedStep {
  return { verdict: 'broken', reason, driftPercent: null };
}

/** Why a candidate cannot be measured; null when it can. A matrix with mistakes counts as its commit's problem. */
async function problemOf(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof BrokenSubjectError) return error.message;
    if (error instanceof BenchError && !(error instanceof InterruptedError)) {
      return error.lines[0] ?? error.name;
    }
    throw error;
  }
}
