import type { Judged, StepVerdict } from './step.ts';
import { candidateTurn, endsTurn } from './turns.ts';
import { BenchError, InterruptedError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { count } from '../../terminal/numbers.ts';
import type { Measurements } from './measurements.ts';
import type { Session } from './session.ts';
import type { Side } from './side.ts';
import type { BisectState, StoredStep } from './state.ts';
import { BrokenSubjectError } from './subject.ts';
import type { Task, TaskEnd } from './task.ts';

type Ends = NonNullable<BisectState['ends']>;

export type SearchEnd =
  | TaskEnd
  | { readonly kind: 'notSlower' | 'unclear' }
  /** An end cannot be measured: nothing can be said. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Measures and searches until there is an answer. Everything is stored as it happens. */
export async function searchToTheEnd(session: Session, task: Task, measurements: Measurements): Promise<SearchEnd> {
  const search = new Search(session, task, measurements);
  try {
    return await search.answer();
  } catch (error) {
    if (!(error instanceof BrokenSubjectError)) throw error;
    return { kind: 'failed', reason: error.message };
  } finally {
    await task.close();
    await measurements.settle();
  }
}

class Search {
  private readonly session: Session;
  private readonly task: Task;
  private readonly measurements: Measurements;

  constructor(session: Session, task: Task, measurements: Measurements) {
    this.session = session;
    this.task = task;
    this.measurements = measurements;
  }

  async answer(): Promise<SearchEnd> {
    const { verdict } = this.session.state().ends ?? (await this.judgeEnds());
    if (verdict !== 'slower') return { kind: verdict };
    for (;;) {
      const next = this.task.next(this.judged);
      if (next.kind !== 'test') return next;
      await this.judge(this.measurements.sideOf(next.subject));
    }
  }

  private get judged(): Judged[] {
    return this.session
      .state()
      .steps.flatMap(({ candidate, verdict }) => (verdict === null ? [] : [{ candidate, verdict }]));
  }

  private async judgeEnds(): Promise<Ends> {
    const { io, save } = this.session;
    for (;;) {
      const { good, bad, ...rest } = this.measurements.ends();
      const turn = endsTurn({ good, bad, ...rest });
      if (turn.kind === 'run') {
        await this.measureEnd(turn.side);
        continue;
      }
      const { verdict } = turn;
      if (verdict === 'broken') {
        throw new BrokenSubjectError('no run of an end gave a measurement; see bench show latest');
      }
      const ends = { verdict, goodRuns: good.values.length, badRuns: bad.values.length };
      await save({ ends });
      const tests = count(this.task.tests, 'test');
      const shown = { slower: `slower; about ${tests} to go`, notSlower: 'not slower', unclear: 'unclear' };
      io.err(`the bad end is ${shown[verdict]}\n`);
      return ends;
    }
  }

  private async judge(side: Side): Promise<void> {
    const { io, save, state } = this.session;
    const step = await this.stepOf(side);
    const judged = await this.verdictOf(side, step);
    await save({ steps: [...state().steps.slice(0, -1), { ...step, ...judged }] });
    await side.close();
    const reason = judged.reason === null ? '' : ` (${printable(judged.reason)})`;
    const left = this.task.testsLeft(this.judged);
    const shown = printable(side.subject.label);
    const rest = left === 0 ? '' : `; about ${left} to go`;
    io.err(`${judged.verdict}${reason}: ${shown}${rest}\n`);
  }

  /** The step that measures a candidate: the one that was broken off, or a new one. */
  private async stepOf({ subject }: Side): Promise<StoredStep> {
    const { save, state } = this.session;
    const { steps } = state();
    const last = steps.at(-1);
    if (last?.candidate === subject.key && last.verdict === null) return last;
    const { good, bad } = this.measurements;
    const step = {
      candidate: subject.key,
      goodBefore: good.runs.length,
      badBefore: bad.runs.length,
      verdict: null,
      reason: null,
      driftPercent: null,
    };
    await save({ steps: [...steps, step] });
    return step;
  }

  private async verdictOf(side: Side, { goodBefore, badBefore }: StoredStep): Promise<JudgedStep> {
    for (;;) {
      const turn = candidateTurn({
        ...this.measurements.ends(),
        ...this.measurements.candidate(side),
        before: { good: goodBefore, bad: badBefore },
        tests: this.task.tests,
      });
      if (turn.kind === 'decided') {
        const { verdict, driftPercent } = turn;
        if (verdict === 'broken') return broken('no run of it gave a measurement');
        return { verdict, reason: null, driftPercent };
      }
      // Opened before an end is run for it: a candidate that cannot be built costs no run.
      const problem = await problemOf(() => side.open());
      if (problem !== null) return broken(problem);
      if (turn.side === 'candidate') {
        const failed = await problemOf(() => this.measurements.measure(side, side.subject.label));
        if (failed !== null) return broken(failed);
      } else await this.measureEnd(turn.side);
    }
  }

  private measureEnd(end: 'good' | 'bad'): Promise<void> {
    return this.measurements.measure(this.measurements[end], `${end} end`);
  }
}

type JudgedStep = Pick<StoredStep, 'reason' | 'driftPercent'> & { readonly verdict: StepVerdict };

function broken(reason: string): JudgedStep {
  return { verdict: 'broken', reason, driftPercent: null };
}

/** Why a candidate cannot be measured; null when it could. A matrix with mistakes is a matter of its commit, too. */
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
