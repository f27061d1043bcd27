import { join } from 'node:path';

import Database from 'better-sqlite3';

import { keyedCell } from '../src/domain/cell-key.ts';
import type { KeyedCell } from '../src/domain/cell.ts';
import { openStore } from '../src/store/open.ts';
import { encodeSamples } from '../src/store/samples-codec.ts';
import { RunWriter } from '../src/store/save-run.ts';
import { ROOT } from './processes.ts';

const REPEATS = 5;

/** 72 cells: six models, two precisions, three batch sizes, CUDA graph on and off. */
const CELLS: readonly KeyedCell[] = ['vit_s', 'vit_b', 'resnet50', 'bert', 'unet', 'yolo'].flatMap(
  (model) =>
    (['fp16', 'fp8'] as const).flatMap((precision) =>
      [1, 8, 32].flatMap((batch) =>
        [true, false].map((cudaGraph) =>
          keyedCell({
            model,
            precision,
            precisionVia: 'onnx',
            shapes: { input: [batch, 3, 224, 224] },
            cudaGraph,
            dataTransfers: false,
            streams: 1,
            spinWait: true,
            inputs: { kind: 'random' },
            axisFlags: {},
          }),
        ),
      ),
    ),
);

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
      VALUES ('e', 'NVIDIA H200', '580.159.04', '10.6.0');
    INSERT INTO invocations VALUES ('i', '["trtexec"]', '{}', '{}');
    INSERT INTO builds (build_id, model, flags, engine_mib, build_s) VALUES ('b', 'm', '[]', 42.5, 60);
    WITH RECURSIVE night(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM night WHERE n < ${nights})
    INSERT INTO sweeps (sweep_id, source, matrix, provenance, state, started_at, finished_at, git_commit,
                        git_dirty, tool_version, tensorrt, plan)
      SELECT lower(hex(randomblob(16))), 'run', 'nightly', 'measured', 'finished',
             strftime('%Y-%m-%dT22:00:00.000Z', '2000-01-01', '+' || n || ' days'),
             strftime('%Y-%m-%dT23:00:00.000Z', '2000-01-01', '+' || n || ' days'),
             lower(hex(randomblob(20))), 0, '0.1.0', '10.6', hex(zeroblob(10000))
      FROM night;
    INSERT INTO sweep_cells SELECT sweep_id, cell_key, NULL, ${REPEATS} FROM sweeps CROSS JOIN cells;
    WITH RECURSIVE repeat(r) AS (SELECT 1 UNION ALL SELECT r + 1 FROM repeat WHERE r < ${REPEATS})
    INSERT INTO runs
      SELECT lower(hex(randomblob(16))), sweep_id, 'timed', cell_key, r, 'b', NULL, NULL, 'measured', 'e',
             'measured', NULL,
             strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '+' || (r * ${CELLS.length} + number) || ' seconds'),
             1.7, 0, NULL, 0, 0, 'i', '[]', NULL
      FROM sweeps CROSS JOIN repeat CROSS JOIN numbered
      ORDER BY started_at, r, number;
    CREATE TEMP TABLE valued AS
      SELECT run_id, runs.started_at, sweep_id, 0.5 + 0.05 * number + (abs(random()) % 1000) * 1e-6 AS ms
      FROM runs JOIN numbered USING (cell_key) ORDER BY runs.rowid;
    INSERT INTO measurements
      SELECT run_id, 1000 / ms, 1, 0.9, 1000, 200, 0.4, 0.05, 0.9, ms, ms, 12.5 FROM valued;
    WITH metric(name) AS (VALUES ('latency'), ('enqueue'), ('h2d'), ('gpuCompute'), ('d2h'))
    INSERT INTO time_statistics
      SELECT run_id, name, ms * 0.99, ms * 1.1, ms, ms, ms * 1.01, ms * 1.02, ms * 1.05, NULL
      FROM valued CROSS JOIN metric;
    INSERT INTO run_hints SELECT run_id, 'graph_ok', NULL FROM valued;
    INSERT INTO artefacts SELECT run_id, 'stdout.log', hex(randomblob(32)), 36000 FROM valued;
    INSERT INTO artefacts SELECT run_id, 'times.json', hex(randomblob(32)), 700000 FROM valued;
    INSERT INTO attempts SELECT run_id, 1, sweep_id, started_at FROM valued;
  `);
  db.prepare('INSERT INTO samples SELECT run_id, ?, ? FROM valued').run(
    queries,
    samplesOf(queries),
  );
  db.pragma('journal_mode = WAL');
  db.close();
}

/** Four columns that nothing can be told of beforehand, as the times of a real run: about 9 bytes a query. */
function samplesOf(queries: number): Buffer {
  const times = (): Float64Array =>
    Float64Array.from({ length: queries }, () => Math.round(1e5 * (1 + Math.random() / 4)) / 1e5);
  return encodeSamples({
    count: queries,
    columns: { startEnqMs: times(), computeMs: times(), h2dMs: times(), latencyMs: times() },
  });
}

/** The key of one of the cells, to name it on a command line. */
export function someCellKey(): string {
  return CELLS[0]?.key ?? '';
}
