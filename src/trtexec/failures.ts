import type { Evidence, FailureReason, Outcome } from '../records/outcome.ts';
import type { Retries } from '../records/plan.ts';

const NAMES = [
  /error while loading shared libraries: ([^\s:]+)/,
  /(?:Could not load library|Unable to (?:open|load) library):? ([^\s:]+)/,
  /([\w.+-]+\.so[\w.]*): cannot open shared object file/,
];

/** The library that a program's loader did not find; null if its message names none. */
export function missingLibrary(evidence: readonly Evidence[]): string | null {
  // The matrix names a plugin library, so it is not part of the installation.
  const texts = evidence.map(({ text }) => text).filter((text) => !text.includes('IPluginRegistry::loadLibrary'));
  const names = texts.flatMap((text) => NAMES.flatMap((pattern) => pattern.exec(text)?.[1] ?? []));
  return names[0] ?? null;
}

export function missingLibraryText(name: string): string {
  return `${name} could not be loaded: put its folder on LD_LIBRARY_PATH; \`bench doctor\` looks for it and prints the line`;
}

/**
 * Failures that may pass; any other failure recurs at every attempt. The patterns are texts of the CUDA runtime and
 * driver: words, names and numbers. `isOverAtOnce`: the cause is gone when the process has ended, so waiting does not
 * help. `onlyOnSharedGpu`: only if another process held GPU memory; otherwise the run needs more memory than there is,
 * and always fails.
 */
const PASSING_FAILURES = [
  {
    what: 'the GPU was busy',
    pattern:
      /busy or unavailable|devices? (?:is|are) in use|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE|exclusive[- ](?:process|thread)|Cuda failure: 46\s*$|with error: 46\b/i,
  },
  {
    what: 'the GPU was lost',
    pattern:
      /fallen off the bus|GPU is lost|cudaErrorDeviceLost|\bXid\b|uncorrectable ECC error|cudaErrorECCUncorrectable|uncorrectable NVLink error|Cuda failure: (?:214|220)\s*$/i,
  },
  {
    what: 'CUDA was not ready',
    pattern:
      /system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY|initialization error|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED|Cuda failure: (?:3|802)\s*$|with error: (?:3|802)\b/i,
  },
  {
    // cudaErrorNotReady: trtexec's profiler sometimes reads an event that is not recorded yet.
    what: 'the device was not ready',
    isOverAtOnce: true,
    pattern: /device not ready|cudaErrorNotReady|CUDA_ERROR_NOT_READY|Cuda failure: 600\s*$|with error: 600\b/i,
  },
  {
    what: 'memory of the GPU was taken by others',
    onlyOnSharedGpu: true,
    pattern:
      /out of memory|OutOfMemory|cudaErrorMemoryAllocation|amount of GPU memory \(\d+ bytes\) could not be allocated|Cuda failure: 2\s*$/i,
  },
];

/** Only with these reasons may a log line name a transient failure. A build reports it in a separate line. */
const OF_GPU: readonly FailureReason[] = ['cudaError', 'noGpu', 'deviceInvalid', 'outOfMemory', 'unknown'];
const OF_PHASE: readonly FailureReason[] = ['buildFailed', 'buildFailedSilently', 'inferenceFailed', 'engineInvalid'];

/**
 * The transient cause of a failure; null if a retry changes nothing. `lines` mention errors, whether or not they are
 * evidence.
 */
export function passingFailure(outcome: Outcome, lines: readonly string[], sharesGpu: boolean) {
  if (outcome.kind !== 'failed' || ![...OF_GPU, ...OF_PHASE].includes(outcome.reason)) return null;
  const possible = PASSING_FAILURES.filter(({ onlyOnSharedGpu }) => sharesGpu || onlyOnSharedGpu !== true);
  const found = possible.find(({ pattern }) => lines.some((line) => pattern.test(line)));
  return found === undefined ? null : { what: found.what, isOverAtOnce: found.isOverAtOnce === true };
}

const LONGEST_WAIT_S = 600;

/** Wait before a retry in seconds; the first retry is number 1. Null when no retries are left. */
export function waitBeforeS({ times, waitS }: Retries, retry: number, isOverAtOnce = false): number | null {
  if (retry > times) return null;
  const longestS = Math.max(LONGEST_WAIT_S, waitS);
  return isOverAtOnce ? 0 : Math.min(longestS, waitS * 4 ** (retry - 1));
}
