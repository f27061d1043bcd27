import { expect, test } from 'vitest';

import { testIo } from '../../support/io.ts';
import { scoreCases } from '../../support/why/score.ts';

/** Not the seed that anything was tried with. */
const SEED = 20_261_121;

test('cases made from recordings: the right cause comes first in at least 95 % of them', async () => {
  const scored = await scoreCases(SEED, testIo());
  const wrong = scored.filter(({ isRight }) => !isRight).map(({ name, said }) => `${name}: ${said}`);
  expect(wrong.length <= 0.05 * scored.length ? [] : wrong).toEqual([]);
}, 120_000);
