import { RANDOM_CALIBRATION_NOTE } from '../../variants/conversion.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import {
  NO_TENSORRT,
  type Plan,
  PLACEHOLDERS,
  type PlannedCell,
  type PlannedRun,
  type PlannedVariant,
} from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import type { Provenance } from '../../records/provenance.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { renderTable } from '../../terminal/table.ts';

export interface PlanReport {
  readonly plan: Plan;
  readonly cells: readonly MatrixCell[];
  readonly trtexec: string;
  readonly provenance: Provenance;
  /** Cells that the file names more than once. */
  readonly merged: readonly { readonly label: string; readonly times: number }[];
  readonly notes: readonly string[];
  /** The order is one of many: a sweep draws its own. */
  readonly isSeedDrawn: boolean;
}

/** When nothing is known of a build: a middling one on a data-centre GPU. */
const BUILD_ESTIMATE_S = 60;

/** A small model takes seconds, ViT-B took 50 (ModelOpt 0.47.0 on 2 cores). */
const VARIANT_ESTIMATE_S = 30;

function planEstimateS({ builds, runs, variants }: Plan, isReplay: boolean): number {
  if (isReplay) return (builds.length + runs.length) * 0.1;
  const buildsS = builds.filter(({ args }) => args.length > 0).length * BUILD_ESTIMATE_S;
  const variantsS = variants.length * VARIANT_ESTIMATE_S;
  return variantsS + buildsS + runs.reduce((sum, run) => sum + run.estimateS, 0);
}

export function planJson(report: PlanReport) {
  const { plan, trtexec, provenance, merged, notes } = report;
  return {
    schemaVersion: 1,
    matrix: plan.matrix,
    tensorrt: plan.tensorrt,
    provenance,
    seed: plan.seed,
    repeats: plan.repeats,
    estimateS: planEstimateS(plan, provenance === 'recorded'),
    cells: plan.cells.map(({ cell, label, buildRef }) => ({ ...cell, label, buildRef })),
    variants: plan.variants.map((variant) => ({
      variantRef: variant.variantRef,
      label: variant.label,
      by: variant.by,
      precision: variant.precision,
      onnxPath: variant.onnxPath,
      calibration: variant.calibration,
      argv: [PYTHON, ...variant.args],
      timeoutS: variant.timeoutS,
    })),
    builds: plan.builds.map((build) => ({
      variantRef: build.variantRef,
      buildRef: build.buildRef,
      label: build.label,
      enginePath: build.enginePath,
      argv: build.args.length === 0 ? null : [trtexec, ...shownArgs(build.args, build.buildRef, build.variantRef)],
      timeoutS: build.timeoutS,
    })),
    runs: plan.runs.map((run, position) => ({
      position: position + 1,
      role: run.role,
      cellKey: run.cellKey,
      buildRef: run.buildRef,
      repeat: run.repeat,
      argv: runArgv(run, trtexec),
      env: run.env,
      estimateS: run.estimateS,
      timeoutS: run.timeoutS,
    })),
    merged,
    notes,
  };
}

function runArgv(run: PlannedRun, trtexec: string): string[] {
  return run.harness === null ? [trtexec, ...shownArgs(run.args, run.buildRef)] : [...run.harness.argv];
}

export function planText(report: PlanReport, look: Look): string[] {
  const { plan, trtexec, provenance, cells } = report;
  const { style } = look;
  const isReplay = provenance === 'recorded';
  const estimate = formatDuration(planEstimateS(plan, isReplay));
  const head = [
    printable(plan.matrix),
    plan.tensorrt === NO_TENSORRT ? 'no trtexec' : `TensorRT ${plan.tensorrt}${isReplay ? ' (recorded)' : ''}`,
    count(plan.cells.length, 'cell'),
    ...(plan.variants.length === 0 ? [] : [count(plan.variants.length, 'variant')]),
    count(plan.builds.length, 'engine'),
    count(plan.runs.length, 'run'),
    `about ${estimate}`,
  ];
  const lines = [style.strong(head.join(' · ')), ''];
  lines.push(...cellTable(plan, cells, look), '');
  lines.push(...variantLines(plan, look));
  if (plan.builds.length > 0) lines.push(style.strong('Builds'));
  for (const build of plan.builds) {
    lines.push(`  ${style.accent(printable(build.label))}`);
    const argv = [trtexec, ...shownArgs(build.args, build.buildRef, build.variantRef)];
    lines.push(build.args.length === 0 ? `  given: ${printable(build.enginePath ?? '')}` : `  ${shellLine(argv)}`);
  }
  if (plan.builds.length > 0) lines.push('');
  lines.push(style.strong('Runs'));
  for (const run of firstOfEachCell(plan)) {
    const label = plan.cells.find(({ cell }) => cell.key === run.cellKey)?.label ?? run.cellKey;
    lines.push(`  ${style.accent(printable(label))}${run.role === 'profile' ? ' (profile)' : ''}`);
    lines.push(`  ${envText(run.env)}${shellLine(runArgv(run, trtexec))}`);
  }
  lines.push('', orderLine(plan, report.isSeedDrawn));
  for (const { label, times } of report.merged) {
    lines.push(`note: ${printable(label)} is named ${times} times; it is measured as one cell`);
  }
  for (const note of report.notes) lines.push(`note: ${printable(note)}`);
  return lines;
}

const PYTHON = 'python3';

/** Models that are made first, each in a folder of its own with a copy of its base model. */
function variantLines({ variants }: Plan, { style }: Look): string[] {
  if (variants.length === 0) return [];
  return [
    style.strong('Variants'),
    ...variants.flatMap((variant) => [
      `  ${style.accent(printable(variant.label))}: model.onnx is a copy of ${printable(variant.onnxPath)}${dataText(variant)}`,
      `  ${shellLine([PYTHON, ...variant.args])}`,
    ]),
    '',
  ];
}

function dataText({ by, calibration }: PlannedVariant): string {
  if (calibration === null) return '';
  if (calibration.kind === 'file') return `, calibrated on ${printable(calibration.path)}`;
  return by === 'modelopt' ? `, ${RANDOM_CALIBRATION_NOTE}` : '';
}

function cellTable(plan: Plan, cells: readonly MatrixCell[], look: Look): string[] {
  const dimensions = new Map(cells.map((entry) => [entry.cell.key, entry.dimensions]));
  // The shape says the batch already.
  const names = new Set(cells.flatMap((entry) => Object.keys(entry.dimensions)));
  names.delete('batch');
  const { columns, caption } = cellColumns(plan.cells, ({ cell }) => cell);
  const table = renderTable<PlannedCell>(
    [
      { header: 'cell', text: ({ cell }) => cell.key.slice(0, 8) },
      ...columns,
      {
        header: 'dimensions',
        text: ({ cell }) =>
          Object.entries(dimensions.get(cell.key) ?? {})
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
function orderLine({ repeats, seed, runs }: Plan, isSeedDrawn: boolean): string {
  const timed = runs.filter(({ role }) => role === 'timed').length;
  const profiled = runs.length - timed;
  const after = profiled === 0 ? '' : `, then ${count(profiled, 'profile run')}`;
  return `Order: ${count(repeats, 'round')} of ${count(timed / repeats, 'cell')}, each round shuffled (${isSeedDrawn ? 'each sweep draws its own order' : `seed ${seed}`})${after}`;
}

function firstOfEachCell({ cells, runs }: Plan): PlannedRun[] {
  return cells.flatMap(({ cell }) =>
    (['timed', 'profile'] as const).flatMap(
      (role) => runs.find((run) => run.cellKey === cell.key && run.role === role) ?? [],
    ),
  );
}

/** Names under which a person could keep the files; a sweep keeps them beside the store. */
function shownArgs(args: readonly string[], buildRef: string, variantRef: string | null = null): string[] {
  const variant = `variants/${variantRef?.slice(0, 8) ?? ''}/variant.onnx`;
  const engine = `engines/${buildRef.slice(0, 8)}.plan`;
  return args.map((arg) =>
    arg
      .replace(new RegExp(`^--onnx=${PLACEHOLDERS.variant}$`), `--onnx=${variant}`)
      .replace(new RegExp(`^--refitFromOnnx=${PLACEHOLDERS.variant}$`), `--refitFromOnnx=${variant}`)
      .replace(new RegExp(`=${PLACEHOLDERS.engine}$`), `=${engine}`)
      .replace(new RegExp(`=${PLACEHOLDERS.timingCache}$`), '=engines/timing.cache'),
  );
}
