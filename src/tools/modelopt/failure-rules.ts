import * as z from 'zod';

import type { FailureReason } from '../../records/outcome.ts';
import type { Converter } from '../../records/conversion.ts';

/** Arguments for the interpreter that install the requirements of variants. */
export const MODELOPT_INSTALL = '-m pip install "nvidia-modelopt[onnx]==0.47.0"';

/** Packages that affect the bytes of a variant, and so its identity, each with its possible package names. */
export const MODELOPT_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'nvidia-modelopt': ['nvidia-modelopt'],
  onnx: ['onnx'],
  onnxruntime: ['onnxruntime', 'onnxruntime-gpu'],
  'onnx-graphsurgeon': ['onnx-graphsurgeon'],
  onnxslim: ['onnxslim'],
  numpy: ['numpy'],
};

const versionsSchema = z.object({
  python: z.string(),
  packages: z.record(z.string(), z.string().nullable().catch(null)),
});

/** Reads the output of the Python program in `tools/python/helper.ts`; null for other output. */
export function readPythonVersions(text: string) {
  try {
    const { python, packages } = versionsSchema.parse(JSON.parse(text));
    return { python, packages: Object.entries(packages) };
  } catch {
    return null;
  }
}

export interface ConversionFacts {
  readonly by: Converter;
  readonly precision: string;
  readonly interpreter: string;
  /** Version of nvidia-modelopt; null if unknown. */
  readonly modelopt: string | null;
  readonly model: string;
}

interface FailureRule {
  /** Matches the end of standard error, which follows the logs of standard output. */
  readonly pattern: RegExp;
  /** Text for the user, with the groups of the pattern and the facts in braces. */
  readonly problem: string;
  /** Default: `conversionFailed`. */
  readonly reason?: FailureReason;
  /** True if the machine lacks something, so that no other variant could be made either. */
  readonly lacks?: boolean;
}

/**
 * Errors of ModelOpt's ONNX tools (seen with 0.47.0) that bench cannot exclude before it starts them, most reliable
 * first. ERROR and WARNING in its log mean nothing: every good run on a CPU prints both.
 */
export const FAILURE_RULES: readonly FailureRule[] = [
  {
    pattern: /^(?:\w+: )?(?<what>[^\n]+)\nPlease install optional ``\[onnx\]`` dependencies\.\s*$/m,
    problem: 'a package of ModelOpt is missing in {interpreter} ({what}): {interpreter} {install}',
    lacks: true,
  },
  {
    pattern: /No module named '?(?<what>[\w.]+)/,
    problem: '{precision} needs the Python package {what}, which {interpreter} does not have: {interpreter} {install}',
    lacks: true,
  },
  {
    pattern: /error: (?<what>(?:unrecognized arguments|argument|the following arguments are required).*)/,
    problem: 'ModelOpt {modelopt}: {what}: bench knows 0.47.0 ({interpreter} {install})',
  },
  {
    pattern: /\[Errno 28\] No space left on device/,
    problem: 'the disk is full: about three times the size of the model must be free where variants are made',
    reason: 'diskFull',
  },
  {
    pattern: /Unsupported op types in (?<mode>\w+) mode: '?\{(?<what>[^}]*)\}'?/,
    problem: '{mode} cannot quantize the operator {what}',
  },
  {
    pattern: /Invalid input shape: \{(?<what>[^}]*)\}/,
    problem:
      'a dynamic dimension was calibrated as 1 (shape {what}): state calibration: {shapes: {INPUT: 1x3x224x224}}',
    reason: 'shapeInvalid',
  },
  {
    pattern: /Found custom operators: \{(?<what>[^}]*)\}[\s\S]*NameError: name 'trt' is not defined/,
    problem: "the model has the custom operator {what}: its conversion needs TensorRT's Python package",
    reason: 'operatorUnsupported',
  },
  {
    pattern: /MemoryError|bad_alloc|Failed to allocate memory/,
    problem: 'memory ran out: smaller calibration.shapes take less',
    reason: 'outOfMemory',
  },
];

/** The text of a rule with its braces filled; other braces stay. */
export function problemText(problem: string, groups: Readonly<Record<string, string>>, facts: ConversionFacts): string {
  const modelopt = facts.modelopt ?? 'of this version';
  const words = new Map(Object.entries({ ...facts, ...groups, modelopt, install: MODELOPT_INSTALL }));
  return problem.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words.get(name)?.trim() ?? whole);
}
