import { join } from 'node:path';

import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { beforeAll, expect, test } from 'vitest';

import type { StoreDatabase } from '../../src/store/file/open.ts';
import { lastBuildOf } from '../../src/store/runs/time-estimates.ts';
import * as schema from '../../src/store/schema.ts';
import { newestOfBranch, seriesOf, seriesUntil } from '../../src/store/sweeps/find-sweeps.ts';
import { sharedFolder } from '../support/bench.ts';
import { simulatedCells, simulateNights } from '../support/simulated-store.ts';

const path = join(sharedFolder(), 'bench.sqlite');
beforeAll(() => simulateNights(path, { cells: simulatedCells(2), nights: 3, repeats: 2, value: (cell) => 1 + cell }));

/** How SQLite carries out the statements of a query, table by table. */
function planOf(query: (db: StoreDatabase) => unknown): string[] {
  const statements: string[] = [];
  const client = new Database(path, { readonly: true, verbose: (sql) => statements.push(String(sql)) });
  try {
    query(drizzle(client, { schema }));
    return [...statements].flatMap((sql) =>
      client
        .prepare<[], { readonly detail: string }>(`explain query plan ${sql}`)
        .all()
        .map(({ detail }) => detail),
    );
  } finally {
    client.close();
  }
}

test('what belongs to a build is found by its id, without a look at every run', () => {
  const plan = planOf((db) => lastBuildOf(db, 'vit', ['--fp16']));
  expect(plan).toContainEqual(expect.stringMatching(/^SEARCH runs? USING INDEX runs_by_build \(build_id=\?/));
  expect(plan).not.toContainEqual(expect.stringMatching(/^SCAN (?:runs|r)\b/));
});

test('the sweeps of a series are found without a look at every sweep', () => {
  for (const query of [seriesOf, seriesUntil]) {
    const plan = planOf((db) => {
      const newest = newestOfBranch(db, null);
      return newest === null ? [] : query(db, newest, 20);
    });
    expect(plan).toContainEqual(
      expect.stringMatching(/^SEARCH sweeps USING INDEX sweeps_by_series \(git_branch=\? AND matrix=\?/),
    );
    expect(plan).not.toContainEqual(expect.stringMatching(/^SCAN sweeps/));
  }
});
