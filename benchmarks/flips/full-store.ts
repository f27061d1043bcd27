import { join } from 'node:path';

import { openStore } from '../../src/store/file/open.ts';
import { fakeHarnessMatrix } from '../../test/support/fake-harness.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../test/support/simulated-store.ts';
import { bench, ROOT } from '../processes.ts';

/** A small store that has rows in every table: recorded runs with profiles, another harness, nights with a finding. */
export async function fullStore(folder: string): Promise<string> {
  const path = join(folder, 'bench.sqlite');
  const db = ['--db', path];
  await bench(['run', 'matrices/quickstart-pair.yaml', ...db]);
  await bench(['import', 'test/fixtures/trtexec/formats', ...db]);
  await bench(['run', fakeHarnessMatrix(folder, 110), ...db]);
  simulateNights(path, {
    cells: simulatedCells(2),
    nights: 24,
    repeats: 2,
    value: (cell, night, repeat) => (1 + cell) * (night < 18 ? 1 : 1.05) * (1 + 0.001 * ((night * 7 + repeat) % 5)),
    clock: () => 1980,
    flags: (_cell, night) =>
      night === 3 ? [{ id: 'powerLimited', effect: 'explained', value: 1, evidence: 'made up' }] : [],
  });
  await bench(['check', ...db], {}, [0, 1, 4]);
  await bench(['baseline', 'set', 'v1', sweepOfNight(2), '--reason', 'made up', ...db]);
  addOthers(path);
  return path;
}

/** What people and tools say of runs and findings. */
function addOthers(path: string): void {
  const store = openStore(path, join(ROOT, 'migrations'));
  const time = '2026-01-01T00:00:00.000Z';
  store.db.$client.exec(`
    INSERT OR IGNORE INTO findings (finding_id, kind, is_warning, provenance, matrix, direction, state, group_words, lasts,
      environment_changes, pairs, first_bad_sweep_id, reported_sweep_id)
      VALUES ('${'f'.repeat(32)}', 'change', 0, 'simulated', 'nightly', 'slower', 'open', '[]', 'pairs', '[]',
        '{"count":5,"agreeing":5,"changePercent":5,"outcome":"confirmed"}',
        '${sweepOfNight(18)}', '${sweepOfNight(21)}');
    INSERT OR IGNORE INTO finding_cells (finding_id, cell_key, metric, change_percent, margin, before_value, after_value)
      SELECT '${'f'.repeat(32)}', cell_key, 'gpuComputeMs', 5, 3, 1, 1.05 FROM cells WHERE model = 'vit' ORDER BY cell_key LIMIT 1;
    INSERT INTO acknowledgements (finding_id, reason, created_at) SELECT finding_id, 'made up', '${time}' FROM findings LIMIT 1;
    INSERT INTO accuracy (accuracy_id, model, precision, precision_via, reference_sha256, variant_sha256, inputs, samples, sqnr_db,
      relative_error, cosine_min, cosine_mean, max_abs_error, versions, provenance, measured_at)
      VALUES ('${'a'.repeat(32)}', 'vit', 'fp8', 'modelopt', 'r', 'v', '{}', 64, 19.5, 0.01, 0.9, 0.99, 0.4, '{}', 'simulated', '${time}');
    INSERT INTO attachments (run_id, name, kind, sha256, bytes, attached_at)
      SELECT run_id, 'a.nsys-rep', 'nsys', 'h', 3, '${time}' FROM runs ORDER BY run_id LIMIT 1;
    INSERT INTO pruned_runs (run_id, pruned_at, samples, layers, artefacts)
      SELECT run_id, '${time}', 1, 0, 1 FROM runs WHERE provenance = 'simulated' ORDER BY run_id LIMIT 1;
  `);
  store.close();
}
