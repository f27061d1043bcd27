import { cellLabel } from '../../text/cell-label.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { planJson, type PlanReport, planText } from './text.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { prepare, type Prepared } from './prepare.ts';
import type { PlanOptions } from './command.ts';

/** `bench plan MATRIX`: what `bench run` would do. */
export async function plan(path: string, options: PlanOptions, io: Io): Promise<ExitCode> {
  const report = planReport(await prepare(path, options, 'models maybe later', io));
  if (options.json === true) io.out(`${jsonText(planJson(report))}\n`);
  else printLines(io, planText(report, io.look));
  return EXIT_CODES.fine;
}

function planReport({ matrix, cells, plan: made, program, isSeedDrawn }: Prepared): PlanReport {
  const merged = matrix.merged.flatMap(({ key, times }) => {
    const entry = matrix.cells.find(({ cell }) => cell.key === key);
    return entry === undefined ? [] : [{ label: cellLabel(entry.cell), times }];
  });
  return {
    plan: made,
    cells,
    trtexec: program?.shownAs ?? 'trtexec',
    provenance: program?.provenance ?? 'measured',
    merged,
    notes: made.notes,
    isSeedDrawn,
  };
}
