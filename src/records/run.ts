import * as z from 'zod';

import type { KeyedCell } from './cell.ts';
import type { Environment } from './environment.ts';
import type { MetricId, MetricValues } from './metric.ts';
import { type Outcome, OUTCOME_KINDS } from './outcome.ts';
import type { RunFlag } from './run-flag.ts';
import { type Immutable, textOrNull } from './scalars.ts';
import type { Provenance } from './sweep.ts';
import type { ProcessFacts, ParsedRun } from '../trtexec/run-facts.ts';

/** What a process was started for. */
export const RUN_ROLES = ['build', 'timed', 'profile'] as const;

export type RunRole = (typeof RUN_ROLES)[number];

/** What decides an engine, apart from the machine. */
export const buildSchema = z.object({
  model: z.string(),
  modelSha256: textOrNull,
  /** Build flags without paths. */
  flags: z.array(z.string()),
});

export type BuildRecord = Immutable<z.infer<typeof buildSchema>>;

/** One file that a run left, by the hash of its uncompressed bytes. */
export interface StoredArtefact {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** One start of a run, as it ended. */
export const runTrySchema = z.object({
  /** From 1; starts that were cut off count too. */
  attempt: z.number().int().min(1),
  startedAt: z.string(),
  endedAt: z.string(),
  outcome: z.enum(OUTCOME_KINDS),
  reason: textOrNull,
  /** The line that says why; null for a measurement. */
  evidence: textOrNull,
});

export type RunTry = Immutable<z.infer<typeof runTrySchema>>;

/** One trtexec process with everything that is known of it: what the store takes in, whoever started it. */
export interface RunRecord
  extends
    Omit<ParsedRun, 'path'>,
    Pick<CellRun, 'buildId' | 'engineKey' | 'repeat' | 'role' | 'runId' | 'startedAt' | 'sweepId' | 'wallS'> {
  /** Null for a build, which belongs to no single cell. */
  readonly cell: KeyedCell | null;
  /** What was built, for a run that built it. */
  readonly build: BuildRecord | null;
  readonly engineSha256: string | null;
  readonly provenance: Provenance;
  readonly environment: Environment;
  readonly argv: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  readonly process: ProcessFacts;
  /** Its starts that came to an end, in their order; none where nobody counted. */
  readonly tries: readonly RunTry[];
  readonly artefacts: readonly StoredArtefact[];
  /** Folder of the artefacts, relative to the artefacts folder of the store; null when they were not kept. */
  readonly artefactFolder: string | null;
}

/** One run of a cell, with the value of every metric that it has. */
export interface CellRun {
  readonly runId: string;
  readonly sweepId: string;
  readonly cellKey: string;
  readonly role: RunRole;
  /** Counts from 1 within its cell and sweep. */
  readonly repeat: number;
  readonly startedAt: string | null;
  /** Seconds from the start of the process to its end. */
  readonly wallS: number | null;
  /** Queries that were timed. */
  readonly queries: number | null;
  readonly commit: string | null;
  readonly dirty: boolean | null;
  /** With its first evidence. */
  readonly outcome: Outcome;
  readonly buildId: string | null;
  readonly engineKey: string | null;
  readonly environmentId: string;
  /** Null when nobody watched the machine. */
  readonly smClockMhz: number | null;
  readonly flags: readonly RunFlag[];
  /** Median enqueue time over median GPU compute time. */
  readonly enqueueRatio: number | null;
  /**
   * Queries a second that follow from the median latency, where a harness has one query under way at a time and counts
   * no throughput; null for others.
   */
  readonly derivedQps: number | null;
  readonly values: MetricValues;
  /** Robust centres of the run's samples, where they were kept. */
  readonly centres: Readonly<Partial<Record<MetricId, number | null>>>;
}

/** A timed run that is a measurement. */
export function isMeasured({
  role,
  outcome,
}: {
  readonly role: string;
  readonly outcome: Pick<Outcome, 'kind'>;
}): boolean {
  return role === 'timed' && outcome.kind === 'measured';
}
