import { join } from 'node:path';

import { EnvironmentLackingError } from '../errors.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { clockRecordName, holderText, makeLockFolder } from '../process/lock.ts';
import { ownerState } from '../process/process-identity.ts';
import { printable } from '../text/printable.ts';
import { type AskNvidiaSmi, nvidiaSmi } from '../tools/nvidia-smi/nvidia-smi.ts';
import {
  type ClockRecord,
  dropRecord,
  gpuOf,
  isGpuUuid,
  newRecord,
  readRecord,
  resetByHand,
  resetClocks,
  takeGuard,
  writeRecord,
} from './clock-records.ts';
import { type ChosenClocks, type ClockRequest, chooseClocks } from './requests.ts';

export interface ClockLock {
  /** As stored with each run, such as `locked 1590 MHz`. */
  readonly policy: string;
  /** Resets the clocks; idempotent. */
  readonly release: () => void;
}

interface ClockLockContext {
  readonly env: EnvironmentVariables;
  readonly now: () => Date;
  readonly say: (line: string) => void;
  readonly warn: (line: string) => void;
}

/**
 * Locks the clocks of a GPU through nvidia-smi until they are released or this process ends. A record is written first,
 * so that a later bench releases them if this process is killed.
 * @throws UsageError for a frequency that the GPU does not support
 * @throws EnvironmentLackingError without permission, when another bench has locked the clocks, or when they do not
 * hold
 */
export function lockClocks(gpu: LockableGpu, request: ClockRequest, around: ClockLockContext): ClockLock {
  if (!isGpuUuid(gpu.gpuUuid)) {
    throw new EnvironmentLackingError(
      `clocks of ${printable(gpu.gpuUuid)} cannot be locked: this is not the UUID of a whole GPU`,
    );
  }
  const ask = nvidiaSmi(around.env);
  refuseWithoutPersistence(ask, gpu);
  const clocks = chooseClocks(request, supportedClocks(ask, gpu), gpuOf(gpu));
  const path = join(makeLockFolder(around.env), clockRecordName(gpu.gpuUuid));
  claim(path, newRecord({ ...gpu, policy: clocks.policy }, around.now()));
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    process.off('exit', release);
    const problem = resetClocks(ask, gpu.gpuUuid);
    if (problem === null) dropRecord(path);
    if (problem === null) around.say(`clocks of ${gpuOf(gpu)} released`);
    else {
      around.warn(
        `WARNING: the clocks of ${gpuOf(gpu)} ARE STILL LOCKED, ${problem}. Type: ${resetByHand(gpu.gpuUuid)}; the next bench tries it again`,
      );
    }
  };
  // A second Ctrl-C and unexpected errors exit without further cleanup.
  process.on('exit', release);
  const refusal = lockGraphics(ask, gpu, clocks);
  if (refusal !== null) {
    if (refusal.isUnchanged) {
      process.off('exit', release);
      dropRecord(path);
    } else release();
    throw new EnvironmentLackingError(refusal.problem);
  }
  around.say(`clocks of ${gpuOf(gpu)} ${clocks.policy}`);
  return { policy: clocks.policy, release };
}

/** Without persistence mode the driver forgets the lock when a process that uses the GPU ends. */
function refuseWithoutPersistence(ask: AskNvidiaSmi, gpu: LockableGpu): void {
  const { problem, text } = ask(['-i', gpu.gpuUuid, '--query-gpu=persistence_mode', '--format=csv,noheader']);
  if (problem !== null) throw new EnvironmentLackingError(`clocks cannot be locked: ${problem}`);
  if (text.trim() === 'Disabled') {
    throw new EnvironmentLackingError(
      `clocks of ${gpuOf(gpu)} would not stay locked: its persistence mode is off; switch it on with \`sudo nvidia-smi -i ${gpu.gpuUuid} -pm 1\``,
    );
  }
}

function claim(path: string, record: ClockRecord): void {
  const guard = takeGuard(path);
  if (guard.kind !== 'taken') {
    throw new EnvironmentLackingError(`clocks of ${gpuOf(record)}: ${holderText(guard.holder)} uses them, try again`);
  }
  try {
    const other = readRecord(path);
    // A lock of a bench that has ended is replaced, and released with the new one.
    if (other !== null && ownerState(other.owner) !== 'gone') throw heldBy(other, path);
    writeRecord(path, record);
  } finally {
    guard.lock.release();
  }
}

function heldBy(other: ClockRecord, path: string): EnvironmentLackingError {
  const since = other.lockedAt.slice(0, 16).replace('T', ' ');
  const who = `process ${other.owner.pid} on ${printable(other.owner.host)}, since ${printable(since)} UTC`;
  const advice =
    ownerState(other.owner) === 'running'
      ? 'wait for it, or stop it'
      : `it cannot be seen from here (another machine or container); if it is gone: ${resetByHand(other.gpuUuid)}; rm ${printable(path)}`;
  return new EnvironmentLackingError(
    `clocks of ${gpuOf(other)} are ${printable(other.policy)} by another bench (${who}): ${advice}`,
  );
}

/**
 * nvidia-smi exits with 0 even for a GPU without this function, so only its output confirms that the clocks are set.
 */
const IS_SET = /clocks set to/i;
const NEEDS_RIGHTS = /permission/i;
const NO_PERMISSION = 4;
const LOOKS = 5;

interface LockRefusal {
  /** False if nvidia-smi may have changed the clocks in spite of the refusal. */
  readonly isUnchanged: boolean;
  readonly problem: string;
}

/** Null if the clocks are locked. */
function lockGraphics(
  ask: AskNvidiaSmi,
  gpu: LockableGpu,
  { bounds, limitMhz, policy }: ChosenClocks,
): LockRefusal | null {
  const { exitCode, problem, text } = ask(['-i', gpu.gpuUuid, '-lgc', bounds]);
  if (exitCode === NO_PERMISSION || NEEDS_RIGHTS.test(text)) {
    return {
      isUnchanged: true,
      problem: `no permission to lock the clocks of ${gpuOf(gpu)}: run bench as root (in a container with CAP_SYS_ADMIN), or without --lock-clocks; nothing was measured`,
    };
  }
  if (problem !== null || !IS_SET.test(text)) {
    const reason = problem ?? `nvidia-smi says: ${firstLine(text)}`;
    return { isUnchanged: exitCode !== null, problem: `clocks of ${gpuOf(gpu)} could not be locked: ${reason}` };
  }
  if (limitMhz === null) return null;
  let nowMhz: number | null = null;
  // The change takes a moment, during which the old clock may be read.
  for (let look = 0; look < LOOKS; look += 1) {
    nowMhz = graphicsClockMhz(ask, gpu);
    if (nowMhz === null || nowMhz <= limitMhz) return null;
  }
  return {
    isUnchanged: false,
    problem: `clocks of ${gpuOf(gpu)} did not stay locked: nvidia-smi said that they are ${policy}, but they are at ${nowMhz} MHz`,
  };
}

function firstLine(text: string): string {
  return printable(text.split('\n')[0] ?? '');
}

export interface LockableGpu {
  readonly gpuUuid: string;
  readonly gpuName: string;
}

/** Graphics clocks in MHz, descending; empty if the GPU does not report them. */
function supportedClocks(ask: AskNvidiaSmi, gpu: LockableGpu): readonly number[] {
  const query = '--query-supported-clocks=memory,graphics';
  return parseSupportedClocks(ask(['-i', gpu.gpuUuid, query, '--format=csv,noheader,nounits']).text);
}

/**
 * Graphics clocks at the highest memory clock. Parses `3201, 1980`, one combination per line. Any other text (`[N/A]`,
 * an error) lists no clocks.
 */
export function parseSupportedClocks(text: string): readonly number[] {
  const found = [...text.matchAll(/^\s*(\d+)\s*,\s*(\d+)\s*$/gm)];
  const pairs = found.map(([, memory, graphics]) => [Number(memory), Number(graphics)] as const);
  const highest = Math.max(...pairs.map(([memory]) => memory));
  const graphics = pairs.flatMap(([memory, clock]) => (memory === highest ? [clock] : []));
  return [...new Set(graphics)].toSorted((a, b) => b - a);
}

/** Null if the GPU does not report it. */
function graphicsClockMhz(ask: AskNvidiaSmi, gpu: LockableGpu): number | null {
  const { text } = ask(['-i', gpu.gpuUuid, '--query-gpu=clocks.current.graphics', '--format=csv,noheader,nounits']);
  return /^\d+$/.test(text) ? Number(text) : null;
}
