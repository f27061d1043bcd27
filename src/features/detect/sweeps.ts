import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { MatrixJudge } from '../../judge/sweep/matrix-judge.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { readJson } from './series-file.ts';

const recordSchema = z.object({
  matrix: z.string().default(''),
  id: z.coerce.string(),
  precision: z.string().nullish(),
  sweeps: z.array(z.array(z.number().positive()).nullable()),
});

interface Alarm {
  readonly at: number;
  readonly direction: 'slower' | 'faster';
  readonly changePercent: number;
}

/** What is new of each cell, sweep by sweep with only the past; all cells of a matrix are judged together. */
export function detectSweeps(text: string, io: Io): void {
  const records = readJson(text, recordSchema);
  const alarms = records.map((): Alarm[] => []);
  const matrices = Map.groupBy(records.keys(), (line) => records[line]?.matrix ?? '');
  for (const lines of matrices.values()) {
    const cells = lines.map((line) => records[line]).filter((record) => record !== undefined);
    const judge = new MatrixJudge(cells.map(({ precision }) => (precision ? [precision] : [])));
    const sweeps = Math.max(...cells.map((cell) => cell.sweeps.length));
    for (let place = 0; place < sweeps; place += 1) {
      const judgements = judge.step(cells.map((cell) => cell.sweeps[place] ?? null));
      for (const [index, judgement] of judgements.entries()) {
        if (judgement === null || judgement.reported === null) continue;
        const { direction, change } = judgement.reported;
        alarms[lines[index] ?? -1]?.push({
          at: place,
          direction,
          changePercent: Number(percentOfLog(change.log).toPrecision(6)),
        });
      }
    }
  }
  for (const [line, { id }] of records.entries()) io.out(`${JSON.stringify({ id, alarms: alarms[line] })}\n`);
}
