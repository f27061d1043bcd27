import { expect, test } from 'vitest';

import { enginesToRemove } from '../../../src/features/engines/engines.ts';
import type { KeptEngine } from '../../../src/records/engine.ts';

function engine(name: string, bytes: number): KeptEngine {
  return {
    name,
    key: name,
    number: 1,
    buildId: name,
    sha256: '',
    path: name,
    bytes,
    timingCacheBytes: 0,
    state: 'unchecked',
    model: null,
    precision: null,
    modelSha256: null,
    flags: [],
    gpuName: null,
    computeCapability: null,
    tensorrt: null,
    tensorrtLibrary: null,
    driver: null,
    provenance: null,
    builtAt: null,
    buildS: null,
    wallS: null,
    timingCacheSha256: null,
    lastUsedAt: null,
    pinnedAt: null,
    frozenSince: null,
    usedBy: [],
  };
}

const ENGINES = [engine('newest', 10), engine('middle', 20), engine('old', 30)];
const FREE = (): null => null;

test('those used longest ago go first, and no more than needed', () => {
  const planned = enginesToRemove(ENGINES, 5, 40, FREE);
  expect(planned.remove.map(({ name }) => name)).toEqual(['old']);
  expect([planned.bytesBefore, planned.bytesAfter]).toEqual([65, 35]);
});

test('nothing goes that is held, and it is told why', () => {
  const planned = enginesToRemove(ENGINES, 0, 15, ({ name }) => (name === 'old' ? 'pinned' : null));
  expect(planned.remove.map(({ name }) => name)).toEqual(['middle', 'newest']);
  expect(planned.kept).toMatchObject([{ engine: { name: 'old' }, because: 'pinned' }]);
  expect(planned.bytesAfter).toBe(30);
});

test('when all of them fit nothing goes', () => {
  expect(enginesToRemove(ENGINES, 0, 60, FREE)).toMatchObject({ remove: [], kept: [] });
});
