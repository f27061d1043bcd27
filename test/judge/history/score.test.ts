import { describe, expect, test } from 'vitest';

import { packedCells, packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { scoreHistories, scoreNights } from '../../../benchmarks/detection/score.ts';
import { scoreCells } from '../../../benchmarks/detection/score-cells.ts';
import { prototypeAlarms, prototypeCells, prototypeNightAlarms } from './prototype.ts';

// The scorer of the reference data in Python gives these figures for the same answers.
describe('on the answers of the reference detector', () => {
  const histories = packedHistories('synthetic-dev');
  const labelled = packedHistories('labelled');
  const verdicts = new Map([...prototypeCells()].map(([id, { verdict }]) => [id, verdict]));

  test.each([
    ['histories', scoreHistories(histories, prototypeAlarms('prototype-histories')), 145, 7, 14, 0.932, 0.29, [2, 64]],
    ['night by night', scoreNights(histories, prototypeNightAlarms()), 143, 12, 16, 0.911, 0.5, [1, 64]],
    ['recorded', scoreHistories(labelled, prototypeAlarms('prototype-labelled')), 18, 12, 1, 0.735, 1.04, [0, 2]],
  ])('%s', (_, score, hit, wrong, missed, f1, falsePer1000, nullFlagged) => {
    expect(score).toMatchObject({ hit, wrong, missed, f1, falsePer1000, nullFlagged });
  });

  test('two commits', () => {
    const figures = { hit: 90, wrong: 0, missed: 6, precision: 1, recall: 0.938, f1: 0.968, falsePer1000: 0 };
    expect(scoreCells(packedCells(), verdicts)).toMatchObject({ ...figures, quietAlarmed: [0, 6], unclear: 218 });
  });
});
