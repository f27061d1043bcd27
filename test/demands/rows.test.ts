import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT } from '../support/bench.ts';
import { DEMAND_IDS, readDemands, statesTitle } from '../support/demands.ts';

const rows = readDemands(ROOT);
const works = rows.filter(({ state }) => state === 'works' || state === 'partly');

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('every demand has its row, in order', () => {
  expect([rows.map(({ id }) => id), rows.filter(({ asks }) => asks.length < 5)]).toEqual([DEMAND_IDS, []]);
});

test('what is left out, or there in part, has a reason, and nothing else has', () => {
  const lacks = ['left out', 'partly'];
  expect(rows.filter(({ reason, state }) => lacks.includes(state) !== reason.length > 10)).toEqual([]);
});

test('the test of each row is there, by its title', () => {
  const faulty = works.filter(({ file, title }) => title === '' || !statesTitle(read(file), title));
  expect(faulty.map(({ file, id, title }) => `${id}: no test "${title}" in ${file}`)).toEqual([]);
});

test('the main line of each row stands in its source once', () => {
  const faulty = works.filter(
    ({ instead, main, source }) => main === '' || main === instead || read(source).split(main).length !== 2,
  );
  // Whoever changes that line writes the new one into rows.tsv; `node scripts/demands.ts ID` says whether its test fails without it.
  expect(faulty.map(({ id, main, source }) => `${id}: not once in ${source}: ${main}`)).toEqual([]);
});
