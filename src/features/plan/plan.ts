import { cellLabel } from '../../text/cell-label.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { type Plan, PLACEHOLDERS, type PlannedRun } from '../../records/plan.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import type { PlanOptions } from './command.ts';
import type { PlanOutput } from './output.ts';
import { prepare, type Prepared } from './prepare.ts';
import { planText } from './text.ts';

/** `bench plan MATRIX`: what `bench run` would do. */
export async function plan(path: string, options: PlanOptions, io: Io): Promise<ExitCode> {
  const prepared = await prepare(path, options, 'models maybe later', io);
  printResult(io, options, outputOf(prepared), (output, look) => planText(output, prepared, look));
  return EXIT_CODES.fine;
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
    estimateS: planEstimateS(made, provenance === 'recorded'),
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
    })),
    merged,
    notes: made.notes,
  };
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

function runArgv(run: PlannedRun, trtexec: string): string[] {
  return run.harness === null ? [trtexec, ...shownArgs(run.args, run.buildRef)] : [...run.harness.argv];
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
