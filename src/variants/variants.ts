import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import * as z from 'zod';

import { sha256OfFile, tailOfFile } from '../files/files.ts';
import { hashModel } from '../files/hashes.ts';
import { readOnnxFacts } from '../tools/onnx/onnx-file.ts';
import type { CachedVariant, VariantCache } from './variant-cache.ts';
import { hashOf } from '../text/canonical-json.ts';
import { conversionFailure, problemOf } from '../records/conversion.ts';
import type { CalibrationUsed, ConversionFailure, VariantRecord } from '../records/conversion.ts';
import { EnvironmentLackingError, InterruptedError, UsageError } from '../errors.ts';
import type { PlannedVariant } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import {
  arrayFactsSchema,
  calibrationInputs,
  checkBase,
  checkCalibration,
  NPY_TYPES,
} from '../tools/modelopt/check-base.ts';
import { judgeConversion } from '../tools/modelopt/judge.ts';
import { BASE_FILE, calibrationFile, VARIANT_FILE } from '../tools/modelopt/conversion-args.ts';
import { packageFolder } from '../files/folders.ts';
import { askHelper, type HelperContext, runProgram } from '../tools/python/helper.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { acquire, holderText } from '../process/lock.ts';
import type { ProcessResult, Spawn } from '../process/spawn.ts';

/** The user's Python, with the package versions that determine the bytes of a variant. */
export interface ConverterPython {
  readonly interpreter: string;
  readonly python: string;
  readonly packages: Readonly<Record<string, string>>;
}

export interface VariantContext {
  readonly cache: VariantCache;
  readonly python: ConverterPython;
  readonly env: EnvironmentVariables;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly onStart: (variant: PlannedVariant) => void;
  readonly onNote: (text: string) => void;
}

export type VariantState = Awaited<ReturnType<typeof provideVariant>>;

/**
 * Finds or makes a variant. Concurrent processes make it once.
 * @returns `wallS`, `process`, and the `folder` of the log are null if nothing was run
 * @throws UsageError if the model or the calibration data cannot be read
 * @throws EnvironmentLackingError if the Python lacks something
 * @throws InterruptedError on Ctrl-C
 */
export async function provideVariant(context: VariantContext, variant: PlannedVariant) {
  const base = await readBase(variant);
  if ('evidence' in base) return refused(base);
  const key = variantKey(context.python.packages, variant, base);
  const { cache, onNote, signal } = context;
  const lock = await acquire(await cache.lockPath(key), {
    signal,
    onWait: (holder) => onNote(`${holderText(holder)} makes ${variant.label}: waiting for it`),
  });
  try {
    const cached = await cache.find(key);
    if (cached !== null) return { kind: 'ready' as const, ...cached, how: 'cached' as const, wallS: null };
    return await makeVariant(context, variant, base, key);
  } finally {
    lock.release();
  }
}

/** The newest variant made with any package versions. Null if there is none, or if the base model is unreadable. */
export async function findMade(cache: VariantCache, variant: PlannedVariant): Promise<CachedVariant | null> {
  const base = await readBase(variant).catch(() => null);
  if (base === null || 'evidence' in base) return null;
  const made = await cache.list();
  const isMeant = ({ key, record }: CachedVariant): boolean => key === variantKey(record.packages, variant, base);
  return made.find(isMeant) ?? null;
}

/** @throws UsageError if a file that the user named cannot be read */
export function hashed<Hash>(path: string, what: string, hash: (path: string) => Promise<Hash>): Promise<Hash> {
  return hash(path).catch((error: unknown) => {
    throw new UsageError(`${printable(path)}: ${what} not found or not readable`, { cause: error });
  });
}

async function readBase(variant: PlannedVariant) {
  const { calibration, onnxPath } = variant;
  const shown = printable(onnxPath);
  const sha256 = await hashed(onnxPath, 'model', hashModel);
  const facts = await readOnnxFacts(onnxPath).catch(() => null);
  if (facts === null) {
    return conversionFailure('modelInvalid', `${shown} is not an ONNX model, or it is cut short: export it again`);
  }
  const mistake = checkBase(facts, variant, shown);
  if (mistake !== null) return mistake;
  if (calibration?.kind === 'file') {
    const data = await hashed(calibration.path, 'calibration data', sha256OfFile);
    return { facts, sha256, inputs: [], dataSha256: data.sha256 };
  }
  /** Inputs of one calibration step; empty without calibration. */
  const inputs = calibration === null ? [] : calibrationInputs(facts, variant, shown);
  return 'evidence' in inputs ? inputs : { facts, sha256, inputs, dataSha256: null };
}

type Base = Exclude<Awaited<ReturnType<typeof readBase>>, ConversionFailure>;

/** Hash of everything that determines the bytes of a variant, but no names or paths of the user's files. */
export function variantKey(
  packages: ConverterPython['packages'],
  { args, by, calibration, precision }: PlannedVariant,
  { dataSha256, inputs, sha256 }: Pick<Base, 'dataSha256' | 'inputs' | 'sha256'>,
): string {
  return hashOf({
    baseSha256: sha256,
    by,
    precision,
    args,
    calibration:
      calibration?.kind === 'random'
        ? { version: RANDOM_CALIBRATION_VERSION, seed: calibration.seed, samples: calibration.samples, inputs }
        : dataSha256,
    packages,
  });
}

/** Maximum size that is kept of a conversion log; only a faulty one is longer. */
const LOG_BYTES = 8 << 20;

/** A conversion in its own folder `work`. */
interface Job extends VariantContext {
  readonly variant: PlannedVariant;
  readonly base: Base;
  readonly work: string;
}

async function makeVariant(context: VariantContext, variant: PlannedVariant, base: Base, key: string) {
  const { cache, python } = context;
  context.onStart(variant);
  const work = await cache.workFolder(key);
  const job: Job = { ...context, variant, base, work };
  try {
    await copyModel(job);
    const calibration = await bringCalibration(job);
    if (calibration !== null && 'evidence' in calibration) return refused(calibration);
    const process = await convert(job);
    const judged = await judge(job, process);
    if ('failure' in judged) {
      const folder = await cache.keepLog(key, work);
      if (judged.lacks) throw new EnvironmentLackingError(problemOf(judged.failure));
      return { kind: 'failed' as const, failure: judged.failure, process, folder };
    }
    const { by, precision } = variant;
    const { files, converted } = judged;
    const sha256 = await hashModel(join(work, VARIANT_FILE));
    const made = { by, precision, sha256, baseSha256: base.sha256, converted, calibration };
    const record: VariantRecord = { ...made, packages: python.packages, python: python.python };
    const adopted = await cache.adopt(key, work, files, record);
    return { kind: 'ready' as const, ...adopted, how: 'made' as const, wallS: process.wallS };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** ModelOpt rewrites its input in place, so each conversion needs a copy: two would corrupt one file. */
async function copyModel({ base, variant: { onnxPath }, work }: Job): Promise<void> {
  await copyFile(onnxPath, join(work, BASE_FILE));
  for (const { location } of base.facts.externalFiles) {
    const target = join(work, location);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(dirname(onnxPath), location), target);
  }
}

/** Must change when the same seed gives other values. Part of a variant's identity. */
const RANDOM_CALIBRATION_VERSION = 1;

const ARRAYS = { script: 'read_arrays.py', needs: 'numpy', answer: z.object({ arrays: z.array(arrayFactsSchema) }) };

async function bringCalibration(job: Job): Promise<CalibrationUsed | ConversionFailure | null> {
  const { by, calibration, timeoutS } = job.variant;
  const { dataSha256, facts, inputs } = job.base;
  const { work } = job;
  if (calibration === null) return null;
  const target = join(work, calibrationFile(calibration));
  const helper: HelperContext = { ...job, cwd: work, timeoutMs: timeoutS * 1000 };
  const { interpreter } = job.python;
  if (calibration.kind === 'random') {
    // Drawn here, because ModelOpt's own values differ each time.
    const { samples, seed } = calibration;
    const drawn = inputs.map(({ elementType, name, shape }) => ({ name, descr: NPY_TYPES[elementType] ?? '', shape }));
    const script = join(packageFolder(), 'python', 'draw_calibration.py');
    const argv = [interpreter, script, String(seed), String(samples), JSON.stringify(drawn), target];
    const answer = await runProgram(argv, work, helper, 'numpy');
    if ('problem' in answer) {
      return conversionFailure('conversionFailed', `no random calibration data: ${answer.problem}`);
    }
    return { kind: 'random', seed, sha256: (await sha256OfFile(target)).sha256 };
  }
  const answer = await askHelper(ARRAYS, interpreter, { path: calibration.path }, work, helper);
  const shapes = by === 'autocast' ? {} : calibration.shapes;
  const problem = 'problem' in answer ? answer.problem : checkCalibration(answer.arrays, facts, shapes);
  if (problem !== null) return conversionFailure('inputInvalid', `${printable(calibration.path)}: ${problem}`);
  await copyFile(calibration.path, target);
  return { kind: 'file', sha256: dataSha256 ?? '' };
}

async function convert({ env, python, signal, spawn, variant: { args, timeoutS }, work }: Job): Promise<ProcessResult> {
  const temporary = join(work, 'tmp');
  await mkdir(temporary);
  const paths = { cwd: work, stdoutPath: join(work, 'stdout.log'), stderrPath: join(work, 'stderr.log') };
  // The folder is removed however the process ends, and its temporary files with it.
  const own = { ...env, TMPDIR: temporary };
  const invocation = { file: python.interpreter, args, env: own, ...paths, timeoutMs: timeoutS * 1000 };
  const result = await spawn(invocation, signal, () => {});
  if (result.cancelled || signal.aborted) throw new InterruptedError('interrupted');
  if (result.startProblem !== null) {
    throw new EnvironmentLackingError(`${printable(python.interpreter)}: ${result.startProblem}`);
  }
  return result;
}

/** Exit code, log and file must agree. */
async function judge({ python, variant: { by, onnxPath, precision }, work }: Job, process: ProcessResult) {
  const [stdout = '', stderr = ''] = ['stdout', 'stderr'].map((name) =>
    tailOfFile(join(work, `${name}.log`), LOG_BYTES),
  );
  const result = judgeConversion({ stdout, stderr }, process, {
    by,
    precision,
    interpreter: printable(python.interpreter),
    modelopt: python.packages['nvidia-modelopt'] ?? null,
    model: printable(onnxPath),
  });
  if ('failure' in result) return result;
  const facts = await readOnnxFacts(join(work, VARIANT_FILE)).catch(() => null);
  if (facts === null) {
    return { failure: conversionFailure('outputNotWritten', 'it did not write an ONNX model'), lacks: false };
  }
  if (by === 'modelopt' && facts.quantizeNodes + facts.dequantizeNodes === 0) {
    const problem = `it said that it quantized ${result.converted.nodes} nodes, and the file has no Q/DQ node: it would not be ${precision}`;
    return { failure: conversionFailure('nothingConverted', problem), lacks: false };
  }
  return { ...result, files: [VARIANT_FILE, ...facts.externalFiles.map(({ location }) => location)] };
}

function refused(failure: ConversionFailure) {
  return { kind: 'failed' as const, failure, process: null, folder: null };
}
