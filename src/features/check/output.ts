import * as z from 'zod';

import { firstCauseSchema } from '../../records/cause.ts';
import { EXIT_CODES } from '../../errors.ts';
import { judgedCellSchema } from '../../judge/gate/evidence.ts';
import { acknowledgementSchema, findingSchema, JUDGED_BY, SAID_STATES } from '../../records/finding.ts';
import { geometricMeanSchema } from '../../records/verdict.ts';
import { count, id, instant, outputOfVersion, type OutputOf, provenance, unit } from '../../records/output-parts.ts';
import { sweepSchema } from '../../records/sweep.ts';

const ofEdges = { firstBadSweepId: true, lastGoodSweepId: true, lastBadSweepId: true } as const;
const aboutFinding = findingSchema.omit({ findingId: true, ...ofEdges }).shape;
const { cellKey: _cellKey, margin, ...levels } = aboutFinding.cells.element.shape;
const { findingId: _findingId, ...acknowledgement } = acknowledgementSchema.shape;
const { matrix, branch, sweepId, commit, dirty } = sweepSchema.shape;
const startedAt = instant.nullable();
const edge = z.strictObject({ sweepId, startedAt, commit, dirty }).nullable();

const change = {
  title: z.string().describe('The metric in words, such as GPU compute time'),
  unit,
  betterIs: z.enum(['lower', 'higher']),
  ...levels,
};

const finding = z.strictObject({
  id,
  ...aboutFinding,
  state: z.enum(SAID_STATES).describe('new: first reported in the newest sweeps'),
  cells: z.array(id),
  labels: z.array(z.string()).describe('Labels of these cells'),
  metrics: z.array(z.strictObject(change)).describe('Changed metrics, each from its clearest cell'),
  details: z.array(z.strictObject({ key: id, label: z.string(), ...change, margin })),
  firstBad: edge,
  lastGood: edge,
  lastBad: edge,
  commits: z.array(z.strictObject({ commit: z.string(), subject: z.string() })),
  cause: z.string().nullable(),
  buildChanges: z.array(z.string()).describe('Changes of the engine in the clearest cell'),
  likeliestCause: firstCauseSchema.nullable().describe('Likeliest cause in the clearest cell'),
  acknowledged: z.strictObject({ ...acknowledgement, createdAt: instant }).nullable(),
});

/** Worst first, as all verdicts of a series. */
const FOUND = ['slower', 'limit', 'failed', 'unclear', 'warning', 'faster'] as const;
export const SERIES_VERDICTS = [...FOUND, 'same', 'first', 'stale'] as const;

const series = z.strictObject({
  matrix,
  branch,
  provenance,
  gpu: z.string().nullable().describe('GPU model'),
  sweepId,
  startedAt,
  commit,
  judgedBy: z.enum(JUDGED_BY).nullable().describe('Null: not judged, because its last sweep is over 30 days old'),
  sweeps: count.describe('Number of sweeps used, including the newest'),
  baseBranch: z.string().nullable().describe('Branch that a pull request was judged against'),
  verdict: z.enum(SERIES_VERDICTS),
  headline: z.string(),
  canConfirm: z.boolean().describe('Whether `bench run --resume SWEEP --confirm` can measure pairs'),
  cells: z.array(z.strictObject({ key: id, label: z.string(), unit, ...judgedCellSchema.shape })),
  geometricMean: geometricMeanSchema.nullable().describe('Geometric mean of newest values divided by reference levels'),
  notes: z.array(z.string()),
});

export const checked = outputOfVersion(2, 'bench check --json', {
  series: z.array(series),
  findings: z.array(finding).describe('Findings of these series; ended findings while their sweeps are in use'),
  exitCode: z.literal(Object.values(EXIT_CODES)),
});

export const shownFinding = outputOfVersion(2, 'bench show FINDING --json', finding.shape);

export type Checked = OutputOf<typeof checked>;

export type ShownFinding = OutputOf<typeof shownFinding>;

export type CheckedSeries = Checked['series'][number];

export type CheckedFinding = Checked['findings'][number];
