import * as z from 'zod';

import type { BoundBy } from './bound.ts';
import type { KeyedCell } from './cell.ts';
import type { Environment } from './environment.ts';
import type { MetricId, MetricValues } from './metric.ts';
import { type Outcome, OUTCOME_KINDS, type RunFlag } from './outcome.ts';
import { type Immutable, textOrNull, type BuildId, type CellKey, type RunId, type SweepId } from './scalars.ts';
import type { Provenance } from './sweep.ts';
import type { ParsedRun } from '../trtexec/log/derived.ts';
import type { ProcessFacts } from '../trtexec/run-facts.ts';

/**
 * `pair`: the newest or the last good engine of a suspect, measured alternately. Such a run never counts for its sweep.
 */
export const RUN_ROLES = ['build', 'timed', 'profile', 'pair'] as const;

export type RunRole = (typeof RUN_ROLES)[number];

export const buildSchema = z.object({
  model: z.string(),
  modelSha256: textOrNull,
  /** Build options without paths. */
  flags: z.array(z.string()),
});

export type BuildRecord = Immutable<z.infer<typeof buildSchema>>;

/** One file of a run, with the hash of its uncompressed bytes. */
export interface StoredArtefact {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

export const runTrySchema = z.object({
  /** Number of the attempt, from 1, including interrupted ones. */
  attempt: z.number().int().min(1),
  startedAt: z.string(),
  endedAt: z.string(),
  outcome: z.enum(OUTCOME_KINDS),
  reason: textOrNull,
  /** The line that shows the reason; null for a measurement. */
  evidence: textOrNull,
});

export type RunTry = Immutable<z.infer<typeof runTrySchema>>;

/** One run with all known facts, in the form that the store accepts from any source. */
export interface RunRecord
  extends
    Omit<ParsedRun, 'path'>,
    Pick<CellRun, 'buildId' | 'engineKey' | 'repeat' | 'role' | 'runId' | 'startedAt' | 'sweepId' | 'wallS'> {
  /** Null for a build, which belongs to no single cell. */
  readonly cell: KeyedCell | null;
  /** Null unless the run built an engine. */
  readonly build: BuildRecord | null;
  readonly engineSha256: string | null;
  readonly provenance: Provenance;
  readonly environment: Environment;
  readonly argv: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  readonly process: ProcessFacts;
  /** Finished attempts in order; empty if they were not counted. */
  readonly tries: readonly RunTry[];
  readonly artefacts: readonly StoredArtefact[];
  /** Relative to the artefacts folder of the store; null if they were not kept. */
  readonly artefactFolder: string | null;
}

export interface CellRun {
  readonly runId: RunId;
  readonly sweepId: SweepId;
  readonly cellKey: CellKey;
  readonly role: RunRole;
  /** Repeat within its cell and sweep, from 1. */
  readonly repeat: number;
  readonly startedAt: string | null;
  readonly wallS: number | null;
  readonly queries: number | null;
  readonly commit: string | null;
  readonly dirty: boolean | null;
  readonly outcome: Outcome;
  readonly buildId: BuildId | null;
  readonly engineKey: string | null;
  readonly environmentId: string;
  /** Null if the machine was not monitored. */
  readonly smClockMhz: number | null;
  readonly flags: readonly RunFlag[];
  /** The bottleneck of the run; null if unknown. */
  readonly boundBy: BoundBy | null;
  /** Throughput from the median latency, if a harness runs one query at a time and reports none; else null. */
  readonly derivedQps: number | null;
  readonly values: MetricValues;
  /** Robust centers of the samples of the run, if they were kept. */
  readonly centres: Readonly<Partial<Record<MetricId, number | null>>>;
}

export function isMeasured(run: { readonly role: string; readonly outcome: Pick<Outcome, 'kind'> }): boolean {
  return run.role === 'timed' && run.outcome.kind === 'measured';
}
