import { RANDOM_CALIBRATION_NOTE } from '../../variants/conversion.ts';
import { NO_TENSORRT } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { renderTable } from '../../terminal/table.ts';
import type { PlanOutput } from './output.ts';
import type { Prepared } from './prepare.ts';

type PlannedCell = PlanOutput['cells'][number];
type PlannedRun = PlanOutput['runs'][number];

/** @param prepared with the dimensions of the cells, which are shown and no part of the output */
export function planText(
  plan: PlanOutput,
  { cells, isSeedDrawn }: Pick<Prepared, 'cells' | 'isSeedDrawn'>,
  look: Look,
): string[] {
  const { style } = look;
  const head = [
    printable(plan.matrix),
    plan.tensorrt === NO_TENSORRT
      ? 'no trtexec'
      : `TensorRT ${plan.tensorrt}${plan.provenance === 'recorded' ? ' (recorded)' : ''}`,
    count(plan.cells.length, 'cell'),
    ...(plan.variants.length === 0 ? [] : [count(plan.variants.length, 'variant')]),
    count(plan.builds.length, 'engine'),
    count(plan.runs.length, 'run'),
    `about ${formatDuration(plan.estimateS)}`,
  ];
  const lines = [style.strong(head.join(' · ')), ''];
  lines.push(...cellTable(plan, cells, look), '');
  lines.push(...variantLines(plan, look));
  if (plan.builds.length > 0) lines.push(style.strong('Builds'));
  for (const build of plan.builds) {
    lines.push(`  ${style.accent(printable(build.label))}`);
    lines.push(build.argv === null ? `  given: ${printable(build.enginePath ?? '')}` : `  ${shellLine(build.argv)}`);
  }
  if (plan.builds.length > 0) lines.push('');
  lines.push(style.strong('Runs'));
  for (const run of firstOfEachCell(plan)) {
    const label = plan.cells.find(({ key }) => key === run.cellKey)?.label ?? run.cellKey;
    lines.push(`  ${style.accent(printable(label))}${run.role === 'profile' ? ' (profile)' : ''}`);
    lines.push(`  ${envText(run.env)}${shellLine(run.argv ?? [])}`);
  }
  lines.push('', orderLine(plan, isSeedDrawn));
  for (const { label, times } of plan.merged) {
    lines.push(`note: ${printable(label)} is named ${times} times; it is measured as one cell`);
  }
  for (const note of plan.notes) lines.push(`note: ${printable(note)}`);
  return lines;
}

/** Models that are made first, each in a folder of its own with a copy of its base model. */
function variantLines({ variants }: PlanOutput, { style }: Look): string[] {
  if (variants.length === 0) return [];
  return [
    style.strong('Variants'),
    ...variants.flatMap((variant) => [
      `  ${style.accent(printable(variant.label))}: model.onnx is a copy of ${printable(variant.onnxPath)}${dataText(variant)}`,
      `  ${shellLine(variant.argv)}`,
    ]),
    '',
  ];
}

function dataText({ by, calibration }: PlanOutput['variants'][number]): string {
  if (calibration === null) return '';
  if (calibration.kind === 'file') return `, calibrated on ${printable(calibration.path)}`;
  return by === 'modelopt' ? `, ${RANDOM_CALIBRATION_NOTE}` : '';
}

function cellTable(plan: PlanOutput, cells: Prepared['cells'], look: Look): string[] {
  const dimensions = new Map(cells.map((entry) => [entry.cell.key, entry.dimensions]));
  // The shape says the batch already.
  const names = new Set(cells.flatMap((entry) => Object.keys(entry.dimensions)));
  names.delete('batch');
  const { columns, caption } = cellColumns(plan.cells, (cell) => cell);
  const table = renderTable<PlannedCell>(
    [
      { header: 'cell', text: ({ key }) => key.slice(0, 8) },
      ...columns,
      {
        header: 'dimensions',
        text: ({ key }) =>
          Object.entries(dimensions.get(key) ?? {})
            .filter(() => names.size > 0)
            .map(([name, value]) => `${name}=${value}`)
            .join(' '),
        dropRank: 1,
      },
    ],
    plan.cells,
    look,
  );
  return [...table, ...captionLines(caption, look)];
}

/** The order is a shuffle for each round: the first round shows what is meant. */
function orderLine({ repeats, seed, runs }: PlanOutput, isSeedDrawn: boolean): string {
  const timed = runs.filter(({ role }) => role === 'timed').length;
  const profiled = runs.length - timed;
  const after = profiled === 0 ? '' : `, then ${count(profiled, 'profile run')}`;
  return `Order: ${count(repeats, 'round')} of ${count(timed / repeats, 'cell')}, each round shuffled (${isSeedDrawn ? 'each sweep draws its own order' : `seed ${seed}`})${after}`;
}

function firstOfEachCell({ cells, runs }: PlanOutput): PlannedRun[] {
  return cells.flatMap(({ key }) =>
    (['timed', 'profile'] as const).flatMap(
      (role) => runs.find((run) => run.cellKey === key && run.role === role) ?? [],
    ),
  );
}
