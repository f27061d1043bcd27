import { join } from 'node:path';

import Database from 'better-sqlite3';

import type { KeyedCell } from '../src/records/cell.ts';
import { imageCell } from '../test/support/image-cell.ts';
import { openStore } from '../src/store/file/open.ts';
import { encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { RunWriter } from '../src/store/runs/save-run.ts';
import type { QueryTimes } from '../src/trtexec/run-facts.ts';
import { ROOT } from './processes.ts';

const REPEATS = 5;

/** 72 cells: six models, two precisions, three batch sizes, CUDA graph on and off. */
const CELLS: readonly KeyedCell[] = ['vit_s', 'vit_b', 'resnet50', 'bert', 'unet', 'yolo'].flatMap((model) =>
  (['fp16', 'fp8'] as const).flatMap((precision) =>
    [1, 8, 32].flatMap((batch) => [true, false].map((cudaGraph) => imageCell({ model, precision, batch, cudaGraph }))),
  ),
);

/** Ids that all runs share. */
const [BUILD, ENVIRONMENT, INVOCATION] = ['b', 'e', 'c'].map((digit) => digit.repeat(32));

/** Runs of one night: all cells, five times each. */
export const RUNS_PER_NIGHT = CELLS.length * REPEATS;

/**
 * Makes a store of so many nights through the program's own schema, filled by SQL: the runs of a night stand together
 * in every table and their ids are random, as if they had been measured one after the other. All numbers are made up,
 * and the samples of all runs are the same.
 * @param queries samples of a run
 */
export function makeLargeStore(path: string, nights: number, queries: number = 20): void {
  const store = openStore(path, join(ROOT, 'migrations'));
  const writer = new RunWriter(store.db);
  for (const cell of CELLS) writer.saveCell(cell);
  store.close();
  const db = new Database(path);
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -1000000');
  db.pragma('temp_store = MEMORY');
  db.exec(`
    CREATE TEMP TABLE numbered AS
      SELECT row_number() OVER (ORDER BY cell_key) - 1 AS number, cell_key FROM cells;
    INSERT INTO environments (environment_id, gpu_name, driver, tensorrt)
      VALUES ('${ENVIRONMENT}', 'NVIDIA H200', '580.159.04', '10.6.0');
    INSERT INTO invocations (invocation_id, argv, env, banner) VALUES ('${INVOCATION}', '["trtexec"]', '{}', '{}');
    INSERT INTO builds (build_id, model, flags, engine_mib, build_s) VALUES ('${BUILD}', 'm', '[]', 42.5, 60);
    WITH RECURSIVE night(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM night WHERE n < ${nights})
    INSERT INTO sweeps (sweep_id, source, matrix, provenance, state, started_at, finished_at, git_commit,
                        git_dirty, tool_version, tensorrt, plan)
      SELECT lower(hex(randomblob(16))), 'run', 'nightly', 'measured', 'finished',
             strftime('%Y-%m-%dT22:00:00.000Z', '2000-01-01', '+' || n || ' days'),
             strftime('%Y-%m-%dT23:00:00.000Z', '2000-01-01', '+' || n || ' days'),
             lower(hex(randomblob(20))), 0, '0.1.0', '10.6', json_object('filler', hex(zeroblob(10000)))
      FROM night;
    INSERT INTO sweep_cells (sweep_id, cell_key, engine_key, repeats)
      SELECT sweep_id, cell_key, NULL, ${REPEATS} FROM sweeps CROSS JOIN cells;
    WITH RECURSIVE repeat(r) AS (SELECT 1 UNION ALL SELECT r + 1 FROM repeat WHERE r < ${REPEATS})
    INSERT INTO runs (run_id, sweep_id, role, cell_key, repeat, build_id, engine_key, engine_sha256, provenance,
                      environment_id, outcome, reason, started_at, wall_s, exit_code, signal, timed_out, cancelled,
                      invocation_id, notes, artefact_folder)
      SELECT lower(hex(randomblob(16))), sweep_id, 'timed', cell_key, r, '${BUILD}', NULL, NULL, 'measured', '${ENVIRONMENT}',
             'measured', NULL,
             strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '+' || (r * ${CELLS.length} + number) || ' seconds'),
             1.7, 0, NULL, 0, 0, '${INVOCATION}', '[]', NULL
      FROM sweeps CROSS JOIN repeat CROSS JOIN numbered
      ORDER BY started_at, r, number;
    CREATE TEMP TABLE valued AS
      SELECT run_id, runs.started_at, sweep_id, 0.5 + 0.05 * number + (abs(random()) % 1000) * 1e-6 AS ms
      FROM runs JOIN numbered USING (cell_key) ORDER BY runs.rowid;
    INSERT INTO measurements (run_id, throughput_qps, host_walltime_s, gpu_total_s, queries, warm_up_queries, cv_percent,
                              enqueue_ratio, gpu_busy, gpu_compute_centre_ms, latency_centre_ms, context_memory_mib, items_per_s,
                              bound_by)
      SELECT run_id, 1000 / ms, 1, 0.9, 1000, 200, 0.4, 0.05, 0.9, ms, ms, 12.5, 8000 / ms, 'compute' FROM valued;
    WITH metric(name) AS (VALUES ('latency'), ('enqueue'), ('h2d'), ('gpuCompute'), ('d2h'))
    INSERT INTO time_statistics (run_id, metric, min_ms, max_ms, mean_ms, median_ms, percentiles)
      SELECT run_id, name, ms * 0.99, ms * 1.1, ms, ms, json_object('90', ms * 1.01, '95', ms * 1.02, '99', ms * 1.05)
      FROM valued CROSS JOIN metric;
    INSERT INTO run_telemetry (run_id, samples, sm_clock_mhz, clock_reasons, other_processes)
      SELECT run_id, 20, 1980, '{}', '[]' FROM valued;
    INSERT INTO run_hints (run_id, hint, value) SELECT run_id, 'graph_ok', NULL FROM valued;
    INSERT INTO artefacts (run_id, name, sha256, bytes) SELECT run_id, 'stdout.log', hex(randomblob(32)), 36000 FROM valued;
    INSERT INTO artefacts (run_id, name, sha256, bytes) SELECT run_id, 'times.json', hex(randomblob(32)), 700000 FROM valued;
    INSERT INTO attempts (run_id, attempt, sweep_id, started_at) SELECT run_id, 1, sweep_id, started_at FROM valued;
  `);
  db.prepare('INSERT INTO samples (run_id, count, data) SELECT run_id, ?, ? FROM valued').run(
    queries,
    encodeSamples(madeUpTimes(queries)),
  );
  db.pragma('journal_mode = WAL');
  db.close();
}

/** The key of one of the cells, to name it on a command line. */
export function someCellKey(): string {
  return CELLS[0]?.key ?? '';
}

/** Times of queries that follow one another, with as many digits as trtexec prints. */
function madeUpTimes(queries: number): QueryTimes {
  const stamps = ['startEnqMs', 'endEnqMs', 'startH2dMs', 'endH2dMs', 'startComputeMs', 'endComputeMs'] as const;
  const more = ['startD2hMs', 'endD2hMs', 'h2dMs', 'computeMs', 'd2hMs', 'latencyMs'] as const;
  const column = (): Float64Array =>
    Float64Array.from({ length: queries }, (_, query) => Number((200 + query + Math.random() / 100).toPrecision(6)));
  return { count: queries, columns: Object.fromEntries([...stamps, ...more].map((name) => [name, column()])) };
}
