import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder } from '../support/bench.ts';
import { FIXTURES } from '../support/recordings.ts';

const db = join(sharedFolder(), 'bench.sqlite');

beforeAll(async () => {
  for (const folder of ['formats', 'cpu-contended', 'sustained'].map((name) => join(FIXTURES, name))) {
    const { code, stderr } = await bench(['import', folder, '--db', db]);
    if (code !== 0) throw new Error(stderr);
  }
}, 60_000);

async function labels(filter: string): Promise<string[]> {
  const { code, stderr, stdout } = await bench(['ls', 'cells', '--filter', filter, '--json', '--db', db]);
  expect([code, stderr]).toEqual([0, '']);
  const cells: { readonly label: string }[] = JSON.parse(stdout).cells;
  return cells.map(({ label }) => label).toSorted();
}

describe('cells by what their newest runs show', () => {
  test('bottleneck, flag and hint', async () => {
    const host = await labels('bound=host');
    expect(host).toContain('resnet_small fp16 1x3x224x224 graph transfers');
    expect(await labels('bound=power')).toEqual(['vit_base.fp16 32x3x224x224 graph transfers']);
    expect(await labels('bound=power,host')).toEqual(
      [...host, 'vit_base.fp16 32x3x224x224 graph transfers'].toSorted(),
    );
    expect(await labels('flag=power-limited')).toEqual(['vit_base.fp16 32x3x224x224 graph transfers']);
    const hinted = await labels('hint=enqueue_bound');
    expect(hinted.length).toBeGreaterThan(0);
    // A run of one query has the hint, too: it is no measurement, and does not say what its cell is bound by.
    const short = 'resnet_small.fp16 8x3x224x224 no-graph transfers no-spin';
    expect(await labels('bound=host hint=enqueue*')).toEqual(hinted.filter((label) => label !== short));
  });

  test('numbers of any metric', async () => {
    const text = 'resnet_small fp16 1x3x224x224 graph transfers';
    expect(await labels('gpuBusy<0.6 & cudaGraph=on & batch=1')).toContain(text);
    expect(await labels('gpuComputeMs>3')).toEqual(['vit_base.fp16 32x3x224x224 graph transfers']);
    expect(await labels('gpu>3')).toEqual(['vit_base.fp16 32x3x224x224 graph transfers']);
    expect(await labels('itemsPerS>1e9')).toEqual([]);
  });

  test.each([
    ['bound=hots', /"hots" is not a value of bound; did you mean "host"\?/],
    ['flag=hostBound', /did you mean "host-bound"/],
    ['flag=loud', /"loud" is not a value of flag .*known: power-limited, thermal-slowdown/],
    ['hint=h2d-bound', /"h2d-bound" is not a value of hint; did you mean "h2d_bound"\?/],
    ['bund=host', /unknown field "bund"; did you mean "bound"\?/],
  ])('%s: what there is', async (filter, message) => {
    const { code, stderr } = await bench(['ls', 'cells', '--filter', filter, '--db', db]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
  });
});
