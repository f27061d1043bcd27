import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import { type NetworkWork, networkWorkSchema } from '../../src/layers/work/layer-work.ts';
import type { Shapes } from '../../src/records/cell.ts';
import { TEST_PYTHON } from './python.ts';

const answer = z.object({ networks: z.tuple([networkWorkSchema]) });

/** What a model does at the shapes of its inputs, as `python/measure_work.py` says it. */
export function measuredWork(model: Uint8Array, shapes: Shapes): NetworkWork {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-work-'));
  try {
    const [path, job] = [join(folder, 'model.onnx'), join(folder, 'job.json')];
    writeFileSync(path, model);
    writeFileSync(job, JSON.stringify({ jobs: [{ model: path, shapes }] }));
    const printed = execFileSync(TEST_PYTHON ?? '', ['python/measure_work.py', job], { encoding: 'utf8' });
    return answer.parse(JSON.parse(printed)).networks[0];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
