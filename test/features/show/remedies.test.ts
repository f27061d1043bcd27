import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { queryStore } from '../../support/store-dump.ts';

let db: string;

beforeAll(async () => {
  db = join(sharedFolder(), 'bench.sqlite');
  const matrix = join(ROOT, 'matrices', 'quickstart.yaml');
  await bench(['run', matrix, '--filter', 'vit_small fp16 b1', '--db', db]);
});

async function findingsOf(cudaGraph: 0 | 1): Promise<readonly string[]> {
  const [run] = queryStore<{ id: string }>(
    db,
    `SELECT run_id AS id FROM runs JOIN cells USING (cell_key) WHERE role = 'timed' AND cuda_graph = ${cudaGraph}`,
  );
  const { stdout } = await bench(['show', run?.id ?? '', '--next', '--json', '--db', db]);
  return OUTPUTS.explain.parse(JSON.parse(stdout)).findings;
}

test('a cell that a CUDA graph would help names the one that has it, and what that gained', async () => {
  expect(await findingsOf(0)).toContainEqual(
    expect.stringMatching(/^with a CUDA graph it has \+17\.0 % queries\/s in this sweep: cell [0-9a-f]{8}$/),
  );
  expect((await findingsOf(1)).join('\n')).not.toContain('with a CUDA graph');
});

test('how far a batch is from that which the engine is tuned for', async () => {
  expect(await findingsOf(1)).toContain(
    'its batch is 0.13 times that which its engine is tuned for (8): a profile of its own (build.profiles) may be faster',
  );
});

test('whether copies and compute overlap', async () => {
  expect(await findingsOf(0)).toContain(
    'copies and compute overlap: the longest of them goes on for 99.6 % of the time',
  );
});

test('tables mark the batch that an engine is tuned for', async () => {
  const own = join(sharedFolder(), 'batches.sqlite');
  const matrix = join(ROOT, 'matrices', 'quickstart.yaml');
  await bench(['run', matrix, '--filter', 'vit_small fp16 graph', '--db', own]);
  const columnOf = async (args: readonly string[], pattern: RegExp): Promise<string[]> =>
    [...(await bench([...args, '--db', own], { env: { COLUMNS: '140' } })).stdout.matchAll(pattern)].map(
      ([, found = '']) => found,
    );
  expect(await columnOf(['show', 'latest'], /^vit_small .* (\S+) +compute/gm)).toEqual(['0.13', '1.0', '4.0']);
  expect(await columnOf(['choose', '--scaling'], / (\d+\*? → \d+\*?)  +\d+\.?\d* →/g)).toEqual(['1 → 8*', '8* → 32']);
});
