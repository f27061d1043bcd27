import * as z from 'zod';

import { count, instant, provenance, role } from '../records/output-parts.ts';
import type { StoreDatabase } from './file/open.ts';

const kept = z.strictObject({ runs: count, bytes: count });

export const factsOfStore = z.strictObject({
  rows: z.strictObject({
    sweeps: count,
    unfinishedSweeps: count,
    cells: count,
    builds: count,
    accuracies: count,
    baselines: count,
    openFindings: count,
    prunedRuns: count,
  }),
  runs: z.array(z.strictObject({ role, provenance, measured: count, built: count, unfit: count, failed: count })),
  samples: kept,
  layerProfiles: kept,
  artefactFiles: count,
  firstAt: instant.nullable(),
  lastAt: instant.nullable(),
  machines: z.array(
    z.strictObject({ host: z.string().nullable(), gpu: z.string().nullable(), environments: count, runs: count }),
  ),
});

type StoreFacts = z.infer<typeof factsOfStore>;

export function storeFacts({ $client }: StoreDatabase): StoreFacts {
  const number = (sql: string): number => Number($client.prepare(sql).pluck().get());
  const span = $client
    .prepare<[], { firstAt: string | null; lastAt: string | null }>(
      'SELECT min(started_at) AS firstAt, max(started_at) AS lastAt FROM sweeps',
    )
    .get();
  return {
    rows: {
      sweeps: number('SELECT count(*) FROM sweeps'),
      unfinishedSweeps: number(`SELECT count(*) FROM sweeps WHERE state <> 'finished'`),
      cells: number('SELECT count(*) FROM cells'),
      builds: number('SELECT count(*) FROM builds'),
      accuracies: number('SELECT count(*) FROM accuracy'),
      baselines: number('SELECT count(*) FROM baselines'),
      openFindings: number(`SELECT count(*) FROM findings WHERE state = 'open'`),
      prunedRuns: number('SELECT count(*) FROM pruned_runs'),
    },
    runs: $client
      .prepare<[], StoreFacts['runs'][number]>(
        `SELECT role, provenance, sum(outcome = 'measured' AND role <> 'build') AS measured,
                sum(outcome = 'built' OR (outcome = 'measured' AND role = 'build')) AS built, sum(outcome = 'unfit') AS unfit,
                sum(outcome = 'failed') AS failed
         FROM runs GROUP BY role, provenance ORDER BY role = 'build', role = 'profile', provenance`,
      )
      .all(),
    samples: sizeOf($client, 'samples'),
    layerProfiles: sizeOf($client, 'layer_profiles'),
    artefactFiles: number('SELECT count(*) FROM artefacts'),
    firstAt: span?.firstAt ?? null,
    lastAt: span?.lastAt ?? null,
    machines: $client
      .prepare<[], StoreFacts['machines'][number]>(
        `SELECT e.host, e.gpu_name AS gpu, count(DISTINCT e.environment_id) AS environments, sum(n.runs) AS runs
         FROM (SELECT environment_id, count(*) AS runs FROM runs GROUP BY environment_id) n
         JOIN environments e ON e.environment_id = n.environment_id
         GROUP BY e.host, e.gpu_name ORDER BY runs DESC, e.host, e.gpu_name`,
      )
      .all(),
  };
}

function sizeOf(
  $client: StoreDatabase['$client'],
  table: 'samples' | 'layer_profiles',
): { runs: number; bytes: number } {
  const row = $client
    .prepare<[], { runs: number; bytes: number }>(
      `SELECT count(*) AS runs, coalesce(sum(length(data)), 0) AS bytes FROM ${table}`,
    )
    .get();
  return row ?? { runs: 0, bytes: 0 };
}
