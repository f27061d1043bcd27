import type { GitState } from '../../records/sweep.ts';
import type { Io } from '../../cli/io.ts';
import type { Judged, NextStep } from './step.ts';

/** What is measured: a commit, or a setting of factors. */
export interface Subject {
  /** Tells it from the others of its search, and is the same after a restart. */
  readonly key: string;
  /** In a few words. Not safe to print. */
  readonly label: string;
  readonly git: GitState;
  /**
   * Makes it ready to be measured.
   * @throws BrokenSubjectError when it cannot be
   */
  open(): Promise<OpenedSubject>;
  /** Removes what `open` made. */
  close(): Promise<void>;
}

export interface OpenedSubject {
  /** Where and with which environment it is measured. */
  readonly io: Io;
  readonly matrix: string;
  readonly trtexec: string | null;
  readonly replay: string | null;
  /** An ONNX file in place of the matrix's own. */
  readonly model: string | null;
  /** A timing cache in place of the one that all share. */
  readonly timingCache: string | null;
  /** True when a program from in here makes engines that no other subject may load. */
  readonly hasOwnEngines: (program: string) => boolean;
  /** @throws BrokenSubjectError when the machine cannot be set up */
  readonly beforeRun: () => Promise<void>;
}

/** What is searched through, whatever it is. */
export interface Task {
  readonly good: Subject;
  readonly bad: Subject;
  next(judged: readonly Judged[]): NextStep<Subject>;
  /** Candidates that will still be tested when each can be judged. */
  testsLeft(judged: readonly Judged[]): number;
  /** A subject by its key. */
  subject(key: string): Subject;
  /** Removes what was made for any of them; what is needed to go on is kept. */
  close(): Promise<void>;
  /** The key of the subject that a name of the end stands for. */
  keyOf(name: string): string;
  /** The names in a key: the commit, or the factors that are bad. */
  namesOf(key: string): readonly string[];
  /** The subject line of a commit. */
  subjectOf(name: string): string | null;
}

/** Why a subject cannot be measured, in one line: a result, and no end of the search. */
export class BrokenSubjectError extends Error {
  override readonly name = 'BrokenSubjectError';
}
