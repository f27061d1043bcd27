import * as z from 'zod';

import { type Io, printResult } from '../../cli/io.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { totalEstimateS } from '../../matrix/plan/assign-gpus.ts';
import { PRECISIONS } from '../../records/cell.ts';
import { isColdStart } from '../../records/harness.ts';
import {
  type OutputOf,
  cell as cellSchema,
  count as countSchema,
  id,
  output as outputSchema,
  provenance as provenanceSchema,
  role as roleSchema,
} from '../../records/output-parts.ts';
import { NO_TENSORRT, PLACEHOLDERS, type PlannedRun } from '../../records/plan.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDuration, runsAndBuilds } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { dotted, wrapHanging } from '../../terminal/text-width.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { NoTrtexecError } from '../../trtexec/program/find-trtexec.ts';
import { CONVERTERS, RANDOM_CALIBRATION_NOTE } from '../../records/conversion.ts';
import type { PlanOptions } from './command.ts';
import { type Prepared, prepare } from './prepare.ts';

export async function plan(path: string, options: PlanOptions, io: Io): Promise<ExitCode> {
  const prepared = await prepare(path, options, 'models maybe later', io).catch((error: unknown) => {
    if (!(error instanceof NoTrtexecError)) throw error;
    const typed = shellLine(['bench', 'plan', path, '--tensorrt', '10.6']);
    throw new NoTrtexecError(
      `no trtexec was found here: name it with --trtexec PATH, or a version to plan for: ${printable(typed)}`,
    );
  });
  return printResult(io, options, outputOf(prepared), (output, look) => planText(output, prepared, look));
}

function outputOf({ matrix, plan: made, program }: Prepared): PlanOutput {
  const trtexec = program?.shownAs ?? 'trtexec';
  const provenance = program?.provenance ?? 'measured';
  const merged = matrix.merged.flatMap(({ key, times }) => {
    const entry = matrix.cells.find(({ cell }) => cell.key === key);
    return entry === undefined ? [] : [{ label: cellLabel(entry.cell), times }];
  });
  return {
    schemaVersion: 1,
    matrix: made.matrix,
    tensorrt: made.tensorrt,
    provenance,
    seed: made.seed,
    repeats: made.repeats,
    estimateS: totalEstimateS(made, provenance === 'recorded'),
    cells: made.cells.map(({ cell, label, buildRef }) => ({ ...cell, label, buildRef })),
    variants: made.variants.map((variant) => ({
      variantRef: variant.variantRef,
      label: variant.label,
      by: variant.by,
      precision: variant.precision,
      onnxPath: variant.onnxPath,
      calibration: variant.calibration,
      argv: ['python3', ...variant.args],
      timeoutS: variant.timeoutS,
    })),
    builds: made.builds.map((build) => ({
      variantRef: build.variantRef,
      buildRef: build.buildRef,
      label: build.label,
      enginePath: build.enginePath,
      argv: build.args.length === 0 ? null : [trtexec, ...shownArgs(build.args, build.buildRef, build.variantRef)],
      timeoutS: build.timeoutS,
    })),
    runs: made.runs.map((run, position) => ({
      position: position + 1,
      role: run.role,
      cellKey: run.cellKey,
      buildRef: run.buildRef,
      repeat: run.repeat,
      argv: runArgv(run, trtexec),
      env: run.env,
      estimateS: run.estimateS,
      timeoutS: run.timeoutS,
      ...(run.neighbor && { neighborArgv: [trtexec, ...shownArgs(run.neighbor.args, run.neighbor.buildRef)] }),
    })),
    merged,
    notes: made.notes,
  };
}

function runArgv(run: PlannedRun, trtexec: string): string[] {
  return run.harness === null ? [trtexec, ...shownArgs(run.args, run.buildRef)] : [...run.harness.argv];
}

/** Replaces placeholders by names under which a person could keep the files. A sweep keeps them next to the store. */
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

type PlannedCell = PlanOutput['cells'][number];
type ShownRun = PlanOutput['runs'][number];

/** @param prepared gives dimensions of the cells, which the output lacks */
function planText(
  shown: PlanOutput,
  { cells, isSeedDrawn }: Pick<Prepared, 'cells' | 'isSeedDrawn'>,
  look: Look,
): string[] {
  const { style } = look;
  const head = [
    printable(shown.matrix),
    shown.tensorrt === NO_TENSORRT
      ? 'no trtexec'
      : `TensorRT ${shown.tensorrt}${shown.provenance === 'recorded' ? ' (recorded)' : ''}`,
    count(shown.cells.length, 'cell'),
    ...(shown.variants.length === 0 ? [] : [count(shown.variants.length, 'variant')]),
    runsAndBuilds({ runs: shown.runs.length, builds: shown.builds.filter(({ argv }) => argv !== null).length }),
    `about ${formatDuration(shown.estimateS)}`,
  ];
  const wrapped = (text: string): string[] => wrapHanging(text, look.columns, 2);
  const lines = [...wrapped(dotted(head)).map(style.strong), ''];
  lines.push(...cellTable(shown, cells, look), '');
  lines.push(...variantLines(shown, look));
  if (shown.builds.length > 0) lines.push(style.strong('Builds'));
  for (const build of shown.builds) {
    lines.push(`  ${style.accent(printable(build.label))}`);
    lines.push(build.argv === null ? `  given: ${printable(build.enginePath ?? '')}` : `  ${shellLine(build.argv)}`);
  }
  if (shown.builds.length > 0) lines.push('');
  lines.push(style.strong('Runs'));
  for (const run of firstOfEachCell(shown)) {
    const label = shown.cells.find(({ key }) => key === run.cellKey)?.label ?? run.cellKey;
    lines.push(`  ${style.accent(printable(label))}${run.role === 'profile' ? ' (profile)' : ''}`);
    lines.push(`  ${envText(run.env)}${shellLine(run.argv ?? [])}`);
    if (run.neighborArgv !== undefined) lines.push(`  next to: ${shellLine(run.neighborArgv)}`);
  }
  lines.push('', ...wrapped(orderLine(shown, isSeedDrawn)));
  for (const { label, times } of shown.merged) {
    lines.push(`note: ${printable(label)} is named ${times} times; it is measured as one cell`);
  }
  for (const note of shown.notes) lines.push(`note: ${printable(note)}`);
  return lines;
}

/** Models to make first, each in its own folder with a copy of its base model. */
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

function cellTable({ cells: shown }: PlanOutput, cells: Prepared['cells'], look: Look): string[] {
  const dimensions = new Map(cells.map((entry) => [entry.cell.key, entry.dimensions]));
  // The shape includes the batch.
  const names = new Set(cells.flatMap((entry) => Object.keys(entry.dimensions)));
  names.delete('batch');
  const { columns, caption } = cellColumns(shown, (cell) => cell);
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
    shown,
    look,
  );
  return [...table, ...captionLines(caption, look)];
}

/** Every round is shuffled, so the first one serves as an example. */
function orderLine({ cells, repeats, seed, runs }: PlanOutput, isSeedDrawn: boolean): string {
  const colds = new Set(cells.filter(isColdStart).map(({ key }) => key));
  const cold = runs.filter(({ cellKey }) => colds.has(cellKey)).length;
  const timed = runs.filter(({ role }) => role === 'timed').length - cold;
  const others = [
    ...(cold === 0 ? [] : [count(cold, 'cold start')]),
    ...(runs.length === timed + cold ? [] : [count(runs.length - timed - cold, 'profile run')]),
  ];
  const after = others.length === 0 ? '' : `, then ${others.join(', then ')}`;
  return `Order: ${count(repeats, 'round')} of ${count(timed / repeats, 'cell')}, each round shuffled (${isSeedDrawn ? 'each sweep draws its own order' : `seed ${seed}`})${after}`;
}

function firstOfEachCell({ cells, runs }: PlanOutput): ShownRun[] {
  return cells.flatMap(({ key }) =>
    (['timed', 'profile'] as const).flatMap(
      (role) => runs.find((run) => run.cellKey === key && run.role === role) ?? [],
    ),
  );
}

const shapes = z.record(z.string(), z.array(z.number()).readonly());

const plannedVariant = z.strictObject({
  variantRef: id,
  label: z.string(),
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  onnxPath: z.string(),
  calibration: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('random'), seed: z.number(), samples: z.number(), shapes }),
      z.strictObject({ kind: z.literal('file'), path: z.string(), shapes }),
    ])
    .nullable(),
  argv: z.array(z.string()),
  timeoutS: z.number(),
});

const variables = z.record(z.string(), z.string().nullable());

const plannedCommand = { buildRef: id, argv: z.array(z.string()).nullable(), timeoutS: z.number() };
export const planOutput = outputSchema('bench plan --json', {
  matrix: z.string(),
  tensorrt: z.string(),
  provenance: provenanceSchema,
  seed: countSchema,
  repeats: countSchema,
  estimateS: z.number(),
  cells: z.array(cellSchema.extend({ label: z.string(), buildRef: id })),
  variants: z.array(plannedVariant),
  builds: z.array(
    z.strictObject({
      ...plannedCommand,
      label: z.string(),
      variantRef: id.nullable(),
      enginePath: z.string().nullable(),
    }),
  ),
  runs: z.array(
    z.strictObject({
      ...plannedCommand,
      position: countSchema,
      role: roleSchema,
      cellKey: id,
      repeat: countSchema,
      env: variables.describe('Environment variables of the axes; null removes one'),
      estimateS: z.number(),
      neighborArgv: z.array(z.string()).exactOptional().describe('Command that runs on the same GPU at the same time'),
    }),
  ),
  merged: z.array(z.strictObject({ label: z.string(), times: countSchema })),
  notes: z.array(z.string()),
});

type PlanOutput = OutputOf<typeof planOutput>;
