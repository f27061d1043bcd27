import type { Io } from '../../cli/io.ts';
import type { GitState } from '../../records/sweep.ts';
import type { Judged, NextStep } from './turns.ts';

/** What is measured: a commit, or a setting of factors. */
export interface Subject {
  /** Unique within the search, stable over restarts. */
  readonly key: string;
  /** Not safe to print. */
  readonly label: string;
  readonly git: GitState;
  /** @throws BrokenSubjectError when it cannot be measured */
  open(): Promise<OpenedSubject>;
  close(): Promise<void>;
}

export interface OpenedSubject {
  readonly io: Io;
  readonly matrix: string;
  readonly trtexec: string | null;
  readonly replay: string | null;
  /** An ONNX file in place of the matrix's own. */
  readonly model: string | null;
  /** A timing cache in place of the shared one. */
  readonly timingCache: string | null;
  /** True when a program from this folder builds engines that no other subject may load. */
  readonly hasOwnEngines: (program: string) => boolean;
  /** @throws BrokenSubjectError when the machine cannot be set up */
  readonly beforeRun: () => Promise<void>;
}

/** The space that is searched. */
export interface Task {
  readonly good: Subject;
  readonly bad: Subject;
  next(judged: readonly Judged[]): NextStep<Subject>;
  /** Tests left if every candidate can be judged. */
  testsLeft(judged: readonly Judged[]): number;
  subject(key: string): Subject;
  /** Removes what was made for the subjects, except what is needed to resume. */
  close(): Promise<void>;
  /** The key of the subject that a name of the end represents. */
  keyOf(name: string): string;
  /** The commit in a key, or its bad factors. */
  namesOf(key: string): readonly string[];
  subjectOf(name: string): string | null;
}
