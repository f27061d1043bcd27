import type { Evidence, FailureReason, Outcome } from '../records/outcome.ts';
import type { Retries } from '../records/plan.ts';

const NAMES = [
  /error while loading shared libraries: ([^\s:]+)/,
  /(?:Could not load library|Unable to (?:open|load) library):? ([^\s:]+)/,
  /([\w.+-]+\.so[\w.]*): cannot open shared object file/,
];

/** The library without which a program did not start, by the words of its loader; null where they name none. */
export function missingLibrary(evidence: readonly Evidence[]): string | null {
  for (const { text } of evidence) {
    // A plugin library is one that the matrix names: nothing of the installation.
    if (text.includes('IPluginRegistry::loadLibrary')) continue;
    for (const pattern of NAMES) {
      const name = pattern.exec(text)?.[1];
      if (name !== undefined) return name;
    }
  }
  return null;
}

export function missingLibraryText(name: string): string {
  return `${name} could not be loaded: put its folder on LD_LIBRARY_PATH; \`bench doctor\` looks for it and prints the line`;
}

interface PassingFailure {
  readonly what: string;
  readonly pattern: RegExp;
  /** Only where something else held memory of the GPU: alone on it a run needs more than there is, night after night. */
  readonly onlyOnSharedGpu?: true;
  /** It is over as soon as the process is: nothing is gained by waiting. */
  readonly isOverAtOnce?: true;
}

/**
 * What can be gone a minute later. Everything else (a model, a flag, a shape, an operator) fails as often as it is
 * tried. Texts are those of the CUDA runtime and driver, in words, by name and by number.
 */
const PASSING_FAILURES: readonly PassingFailure[] = [
  {
    what: 'the GPU was busy',
    pattern:
      /busy or unavailable|devices? (?:is|are) in use|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE|exclusive[- ](?:process|thread)|Cuda failure: 46\s*$|with error: 46\b/i,
  },
  {
    what: 'the MPS server was not ready',
    pattern:
      /MPS server is not ready|MPS (?:client )?(?:failed to connect|connection limit|max(?:imum)? (?:clients|connections))|cudaErrorMps(?:ServerNotReady|ConnectionFailed|MaxClientsReached|MaxConnectionsReached)|CUDA_ERROR_MPS_(?:SERVER_NOT_READY|CONNECTION_FAILED|MAX_)/i,
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
    // cudaErrorNotReady: trtexec's profiler now and then reads an event that is not recorded yet.
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

/** Of these reasons a line of the log may name what can pass; a build that failed by it says so in a line of its own. */
const MAY_PASS: readonly FailureReason[] = [
  'cudaError',
  'noGpu',
  'deviceInvalid',
  'outOfMemory',
  'buildFailed',
  'buildFailedSilently',
  'inferenceFailed',
  'engineInvalid',
  'unknown',
];

/** What can pass, in a few words, and whether waiting helps. */
interface Passing {
  readonly what: string;
  readonly isOverAtOnce: boolean;
}

/**
 * What it was that can pass; null when trying again changes nothing.
 * @param lines of the log that speak of errors, whatever its outcome rests on
 */
export function passingFailure(outcome: Outcome, lines: readonly string[], sharesGpu: boolean): Passing | null {
  if (outcome.kind !== 'failed' || !MAY_PASS.includes(outcome.reason)) return null;
  const found = PASSING_FAILURES.find(
    ({ pattern, onlyOnSharedGpu }) =>
      (sharesGpu || onlyOnSharedGpu !== true) && lines.some((line) => pattern.test(line)),
  );
  return found === undefined ? null : { what: found.what, isOverAtOnce: found.isOverAtOnce === true };
}

const LONGEST_WAIT_S = 600;

/** How long to wait before a try, in seconds; the first retry is number 1. Null when it was tried often enough. */
export function waitBeforeS({ times, waitS }: Retries, retry: number, isOverAtOnce = false): number | null {
  if (retry > times) return null;
  const longestS = Math.max(LONGEST_WAIT_S, waitS);
  return isOverAtOnce ? 0 : Math.min(longestS, waitS * 4 ** (retry - 1));
}
