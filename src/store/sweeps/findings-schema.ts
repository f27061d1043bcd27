import { index, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

import { FINDING_STATES } from '../../records/finding.ts';
import type { MetricId } from '../../records/metric.ts';
import { PROVENANCES } from '../../records/sweep.ts';
import { cells, sweeps } from '../schema.ts';

/** Changes that the nightly gate told, and what became of them. */
export const findings = sqliteTable(
  'findings',
  {
    findingId: text('finding_id').primaryKey(),
    cellKey: text('cell_key')
      .notNull()
      .references(() => cells.cellKey),
    metric: text('metric').$type<MetricId>().notNull(),
    provenance: text('provenance', { enum: PROVENANCES }).notNull(),
    branch: text('git_branch'),
    matrix: text('matrix'),
    direction: text('direction', { enum: ['slower', 'faster'] }).notNull(),
    changePercent: real('change_percent').notNull(),
    margin: real('margin').notNull(),
    before: real('before_value').notNull(),
    after: real('after_value').notNull(),
    lastGoodSweepId: text('last_good_sweep_id'),
    firstBadSweepId: text('first_bad_sweep_id')
      .notNull()
      .references(() => sweeps.sweepId, { onDelete: 'cascade' }),
    toldSweepId: text('told_sweep_id')
      .notNull()
      .references(() => sweeps.sweepId, { onDelete: 'cascade' }),
    state: text('state', { enum: FINDING_STATES }).notNull(),
  },
  (table) => [index('findings_by_matrix').on(table.matrix, table.branch), index('findings_by_cell').on(table.cellKey)],
);

/** Findings that somebody accepted, until when and why. */
export const acknowledgements = sqliteTable('acknowledgements', {
  findingId: text('finding_id')
    .primaryKey()
    .references(() => findings.findingId, { onDelete: 'cascade' }),
  reason: text('reason').notNull(),
  until: text('until'),
  level: real('level').notNull(),
  createdAt: text('created_at').notNull(),
});
