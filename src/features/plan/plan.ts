import * as z from 'zod';

import { type Io, printResult } from '../../cli/io.ts';
import { withStoreIfAny } from '../../cli/with-store.ts';
import type { ExitCode } from '../../errors.ts';
import { totalEstimateS } from '../../matrix/plan/assign-gpus.ts';
import * as parts from '../../records/output-parts.ts';
import { filledArgs } from '../../engines/engine-state.ts';
import { timeEstimates } from '../../store/runs/time-estimates.ts';
import { buildSchema, NO_TENSORRT, runSchema, variantSchema } from '../../records/plan.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { type Look, dotted, wrapHanging } from '../../terminal/look.ts';
import { count, formatDuration, runsAndEngines } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { cellLabel } from '../../records/cell.ts';
import { printable, shortList } from '../../text/printable.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { NoTrtexecError } from '../../trtexec/program/find-trtexec.ts';
import { boundTo, type NumaPolicy } from '../../machine/requests.ts';
import type { PlanOptions } from './command.ts';
import { type Prepared, prepare } from './prepare.ts';

export async function plan(path: string, options: PlanOptions, io: Io): Promise<ExitCode> {
  const prepared = await prepare(path, options, 'models maybe later', io).catch((error: unknown) => {
    if (!(error instanceof NoTrtexecError)) throw error;
    throw new NoTrtexecError('no trtexec was found here: name it with --trtexec PATH, or plan with --tensorrt 10.6');
  });
  const { plan: made, program } = prepared;
  const provenance = program?.provenance ?? 'measured';
  const known = await withStoreIfAny(options, io, (store) => store && timeEstimates(store, made, provenance));
  const estimateS = totalEstimateS(made, provenance === 'recorded', known);
  const shown = outputOf(prepared, options.numa ?? prepared.matrix.numa, estimateS);
  return printResult(io, options, shown, planText);
}

const BOUND = 'numa: auto: each command begins with numactl and the NUMA node of its GPU, where it has one';

function outputOf({ matrix, plan: made, program }: Prepared, stated: NumaPolicy, totalS: number): PlanOutput {
  const numa = program?.provenance === 'recorded' ? 'off' : stated;
  const prefix = numa === 'auto' || numa === 'off' ? [] : boundTo(numa);
  const trtexec = [...prefix, program?.shownAs ?? 'trtexec'];
  const provenance = program?.provenance ?? 'measured';
  const built = new Map(made.builds.map((build) => [build.buildRef, build]));
  // Names under which a person could keep the files. A sweep keeps them next to the store.
  const shownArgs = (args: readonly string[], buildRef: string): string[] => {
    const { enginePath, of = 1, variantRef } = built.get(buildRef) ?? {};
    // With a common timing cache, several builds would choose the same tactics.
    const timingCache = `engines/${of === 1 ? 'timing' : buildRef.slice(0, 8)}.cache`;
    const engine = enginePath ?? `engines/${buildRef.slice(0, 8)}.plan`;
    const variant = `variants/${variantRef?.slice(0, 8) ?? ''}/variant.onnx`;
    return [...trtexec, ...filledArgs(args, { variant, engine, timingCache })];
  };
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
    estimateS: totalS,
    cells: made.cells.map(({ cell, label, buildRef }) => ({ ...cell, label, buildRef })),
    variants: made.variants.map(({ args, opTypes: _opTypes, ...variant }) => ({
      ...variant,
      argv: ['python3', ...args],
    })),
    builds: made.builds.map(({ args, variantRef, buildRef, label, enginePath, timeoutS }) => {
      const argv = args.length === 0 ? null : shownArgs(args, buildRef);
      return { variantRef, buildRef, label, enginePath, timeoutS, argv };
    }),
    runs: made.runs.map(
      ({ args, harness, neighbor, role, cellKey, buildRef, repeat, env, estimateS, timeoutS }, place) => {
        const argv = harness === null ? shownArgs(args, buildRef) : [...prefix, ...harness.argv];
        const facts = { position: place + 1, role, cellKey, buildRef, repeat, env, estimateS, timeoutS, argv };
        return neighbor ? { ...facts, neighborArgv: shownArgs(neighbor.args, neighbor.buildRef) } : facts;
      },
    ),
    merged,
    notes: [...made.notes, ...(numa === 'auto' ? [BOUND] : [])],
  };
}

type PlannedCell = PlanOutput['cells'][number];
type ShownRun = PlanOutput['runs'][number];

function planText(shown: PlanOutput, look: Look): string[] {
  const { style } = look;
  const head = [
    printable(shown.matrix),
    shown.tensorrt === NO_TENSORRT
      ? 'no trtexec'
      : `TensorRT ${shown.tensorrt}${shown.provenance === 'recorded' ? ' (recorded)' : ''}`,
    count(shown.cells.length, 'cell'),
    ...(shown.variants.length === 0 ? [] : [count(shown.variants.length, 'variant')]),
    runsAndEngines({ runs: shown.runs.length, builds: shown.builds.filter(({ argv }) => argv !== null).length }),
    `about ${formatDuration(shown.estimateS)}`,
  ];
  const wrapped = (text: string): string[] => wrapHanging(text, look.columns, 2);
  const lines = [...wrapped(dotted(head)).map(style.strong), ''];
  const { columns, caption } = cellColumns(shown.cells, (cell) => cell);
  const keys = { header: 'cell', text: ({ key }: PlannedCell) => key.slice(0, 8) };
  lines.push(...renderTable<PlannedCell>([keys, ...columns], shown.cells, look), ...captionLines(caption, look), '');
  // Each variant is made in its own folder, with a copy of its base model.
  const variants = shown.variants.flatMap(({ argv, label, onnxPath }) => [
    `  ${style.accent(printable(label))}: model.onnx is a copy of ${printable(onnxPath)}`,
    `  ${shellLine(argv)}`,
  ]);
  const builds = shown.builds.flatMap(({ argv, enginePath, label }) => [
    `  ${style.accent(printable(label))}`,
    argv === null ? `  given: ${printable(enginePath ?? '')}` : `  ${shellLine(argv)}`,
  ]);
  for (const [title, section] of Object.entries({ Variants: variants, Builds: builds })) {
    if (section.length > 0) lines.push(style.strong(title), ...section, '');
  }
  lines.push(style.strong('Runs'));
  for (const run of differentRuns(shown)) {
    const label = shown.cells.find(({ key }) => key === run.cellKey)?.label ?? run.cellKey;
    lines.push(`  ${style.accent(printable(label))}${run.role === 'profile' ? ' (profile)' : ''}`);
    lines.push(`  ${envText(run.env)}${shellLine(run.argv ?? [])}`);
    if (run.neighborArgv !== undefined) lines.push(`  next to: ${shellLine(run.neighborArgv)}`);
  }
  lines.push('', ...wrapped(orderLine(shown)));
  const merged = shown.merged.map(({ label }) => printable(label));
  if (merged.length > 0) lines.push(...wrapped(`note: named several times, measured once: ${shortList(merged, 4)}`));
  for (const note of shown.notes) lines.push(`note: ${printable(note)}`);
  return lines;
}

/** Every round is shuffled, so the first one serves as an example. */
function orderLine({ repeats, runs }: PlanOutput): string {
  const profiled = runs.filter(({ role }) => role === 'profile').length;
  const after = profiled === 0 ? '' : `, then ${count(profiled, 'profile run')}`;
  return `Order: ${count(repeats, 'round')}, each shuffled${after}`;
}

/** The first run of each engine of each cell. */
function differentRuns({ cells, runs }: PlanOutput): ShownRun[] {
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  return cells.flatMap(({ key }) => {
    const own = (byCell.get(key) ?? []).toSorted((a, b) => b.role.localeCompare(a.role) || a.repeat - b.repeat);
    return [...Map.groupBy(own, ({ buildRef, role }) => `${buildRef} ${role}`).values()].flatMap(
      ([first]) => first ?? [],
    );
  });
}

const argv = z.array(z.string());
const shownCommand = { buildRef: true, timeoutS: true } as const;
const plannedRun = runSchema.pick({ ...shownCommand, role: true, cellKey: true, repeat: true, estimateS: true });

export const planOutput = parts.output('bench plan --json', {
  matrix: z.string(),
  tensorrt: z.string(),
  provenance: parts.provenance,
  seed: parts.count,
  repeats: parts.count,
  estimateS: z.number(),
  cells: z.array(parts.cell.extend({ label: z.string(), buildRef: parts.id })),
  variants: z.array(variantSchema.omit({ opTypes: true, args: true }).extend({ argv }).strict()),
  builds: z.array(
    buildSchema
      .pick({ ...shownCommand, label: true, variantRef: true, enginePath: true })
      .extend({ argv: argv.nullable() })
      .strict(),
  ),
  runs: z.array(
    plannedRun
      .extend({
        position: parts.count,
        argv: argv.nullable(),
        env: runSchema.shape.env.describe('Environment variables of the axes; null removes one'),
        neighborArgv: argv.exactOptional().describe('Command that runs on the same GPU at the same time'),
      })
      .strict(),
  ),
  merged: z.array(z.strictObject({ label: z.string(), times: parts.count })),
  notes: z.array(z.string()),
});

type PlanOutput = parts.OutputOf<typeof planOutput>;
