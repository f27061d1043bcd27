import { hostname } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import { EnvironmentLackingError, orNull } from '../errors.ts';
import { readJson } from '../files/folders.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { clockRecordNames, Lock, lockFolder, lockHolder, makeLockFolder, tryAcquire } from '../process/lock.ts';
import type { Immutable } from '../records/scalars.ts';
import { printable } from '../text/printable.ts';
import { type AskNvidiaSmi, nvidiaSmi } from '../tools/nvidia-smi/nvidia-smi.ts';
import { type ChosenClocks, type ClockRequest, chooseClocks } from './requests.ts';

const GPU_UUID = /^GPU-[\w-]{1,64}$/;

/**
 * Who locked the clocks of a GPU. The record is written before locking, into a file that its bench holds as a lock
 * until they are released: if the file has a record and is not locked, its bench was killed.
 */
const recordSchema = z.object({
  pid: z.number().int().positive(),
  host: z.string(),
  /** Checked because the UUID becomes an argument of nvidia-smi. */
  gpuUuid: z.string().regex(GPU_UUID),
  gpuName: z.string(),
  policy: z.string(),
  lockedAt: z.string(),
});

type ClockRecord = Immutable<z.infer<typeof recordSchema>>;
type LockableGpu = Pick<ClockRecord, 'gpuName' | 'gpuUuid'>;

/**
 * Locks the clocks of a GPU through nvidia-smi until they are released or this process ends. A record is written first,
 * so that a later bench releases them if this process is killed.
 * @throws UsageError for a frequency that the GPU does not support
 * @throws EnvironmentLackingError without permission, when another bench has locked the clocks, or when they do not
 * hold
 */
export function lockClocks(
  gpu: LockableGpu,
  request: ClockRequest,
  { env, now, say }: { env: EnvironmentVariables; now: () => Date; say: (line: string) => void },
) {
  const { gpuUuid } = gpu;
  const notWhole = `clocks of ${printable(gpuUuid)} cannot be locked: this is not the UUID of a whole GPU`;
  if (!GPU_UUID.test(gpuUuid)) throw new EnvironmentLackingError(notWhole);
  const ask = nvidiaSmi(env);
  refuseWithoutPersistence(ask, gpu);
  const query = '--query-supported-clocks=memory,graphics';
  const supported = ask(['-i', gpuUuid, query, '--format=csv,noheader,nounits']);
  const clocks = chooseClocks(request, parseSupportedClocks(supported.text), gpuOf(gpu));
  const path = join(makeLockFolder(env), `clocks-${gpuUuid}.json`);
  // Null if the record is missing, empty or truncated; nothing was locked then.
  const left = readJson(path, recordSchema);
  // The lock of a bench that was killed on this host is replaced, and released with the new one.
  const note = { ...gpu, policy: clocks.policy, lockedAt: now().toISOString() };
  const lock = left === null || isOfHost(left) ? tryAcquire(path, { isShared: true, note }) : null;
  if (!(lock instanceof Lock)) {
    if (left !== null) throw heldBy(left, path);
    throw new EnvironmentLackingError(`clocks of ${gpuOf(gpu)}: another process uses them, try again`);
  }
  if (readJson(path, recordSchema) === null) {
    lock.release();
    throw new EnvironmentLackingError(`${printable(path)} cannot be written, so that nobody could release the clocks`);
  }
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    process.off('exit', release);
    const problem = resetClocks(ask, gpuUuid, lock);
    say(problem === null ? `clocks of ${gpuOf(gpu)} released` : stillLocked(gpu, problem));
  };
  // A second Ctrl-C and unexpected errors exit without further cleanup.
  process.on('exit', release);
  const refusal = lockGraphics(ask, gpu, clocks);
  if (refusal !== null) {
    if (refusal.isUnchanged) {
      process.off('exit', release);
      lock.release();
    } else release();
    throw new EnvironmentLackingError(refusal.problem);
  }
  say(`clocks of ${gpuOf(gpu)} ${clocks.policy}`);
  return {
    /** As stored with each run, such as `locked 1590 MHz`. */
    policy: clocks.policy,
    /** Resets the clocks; idempotent. */
    release,
  };
}

/** Without persistence mode the driver forgets the lock when a process that uses the GPU ends. */
function refuseWithoutPersistence(ask: AskNvidiaSmi, gpu: LockableGpu): void {
  const { problem, text } = ask(['-i', gpu.gpuUuid, '--query-gpu=persistence_mode', '--format=csv,noheader']);
  if (problem !== null) throw new EnvironmentLackingError(`clocks cannot be locked: ${problem}`);
  const advice = `switch it on with \`sudo nvidia-smi -i ${gpu.gpuUuid} -pm 1\``;
  const off = `clocks of ${gpuOf(gpu)} would not stay locked: its persistence mode is off; ${advice}`;
  if (text.trim() === 'Disabled') throw new EnvironmentLackingError(off);
}

function heldBy(other: ClockRecord, path: string): EnvironmentLackingError {
  const since = other.lockedAt.slice(0, 16).replace('T', ' ');
  const who = `process ${other.pid} on ${printable(other.host)}, since ${printable(since)} UTC`;
  const advice = isOfHost(other)
    ? 'wait for it, or stop it'
    : `it cannot be seen from here (another machine or container); if it is gone: ${resetByHand(other.gpuUuid)}; rm ${printable(path)}`;
  return new EnvironmentLackingError(
    `clocks of ${gpuOf(other)} are ${printable(other.policy)} by another bench (${who}): ${advice}`,
  );
}

/** Only on this host does the lock of its file show whether its bench runs. */
function isOfHost({ host }: ClockRecord): boolean {
  return host === hostname();
}

/** The bench that holds the clocks of a GPU: `locked 1590 MHz by a bench that runs (process 12)`; null for none. */
export function clockLockOf(gpuUuid: string, env: EnvironmentVariables): string | null {
  const path = join(lockFolder(env), `clocks-${gpuUuid}.json`);
  const record = readJson(path, recordSchema);
  const isGone = record === null || (isOfHost(record) && lockHolder(path) === null);
  return isGone ? null : `${record.policy} by a bench that runs (process ${record.pid})`;
}

/** Releases clocks that a killed bench left locked. Never throws, so that the command continues. */
export function releaseLeftClocks(env: EnvironmentVariables, say: (line: string) => void): void {
  for (const name of clockRecordNames(env)) {
    const path = join(lockFolder(env), name);
    const record = readJson(path, recordSchema);
    if (record === null || !isOfHost(record)) continue;
    const lock = orNull(() => tryAcquire(path, { isShared: true, note: record }));
    if (lock !== null && !(lock instanceof Lock)) continue;
    const problem = lock === null ? 'their lock cannot be taken' : resetClocks(nvidiaSmi(env), record.gpuUuid, lock);
    const policy = record.policy.replace(/^locked/, 'locked them at');
    say(
      problem === null
        ? `released the clocks of ${gpuOf(record)}: an earlier bench (process ${record.pid}) had ${policy} and was killed`
        : stillLocked(record, problem),
    );
  }
}

function stillLocked(gpu: LockableGpu, why: string): string {
  return `WARNING: the clocks of ${gpuOf(gpu)} ARE STILL LOCKED, ${why}. Type: ${resetByHand(gpu.gpuUuid)}; the next bench tries it again`;
}

/** Resets the clocks and releases their lock. Returns why that failed, or null. */
function resetClocks(ask: AskNvidiaSmi, gpuUuid: string, lock: Lock): string | null {
  const { problem } = ask(['-i', gpuUuid, '-rgc']);
  lock.release(problem !== null);
  return problem;
}

function resetByHand(gpuUuid: string): string {
  return `sudo nvidia-smi -i ${gpuUuid} -rgc`;
}

function gpuOf({ gpuName, gpuUuid }: LockableGpu): string {
  return `${printable(gpuName)} (${gpuUuid})`;
}

/**
 * nvidia-smi exits with 0 even for a GPU without this function, so only its output confirms that the clocks are set.
 */
const IS_SET = /clocks set to/i;
const NEEDS_RIGHTS = /permission/i;
const NO_PERMISSION = 4;
const LOOKS = 5;

/**
 * @returns null if the clocks are locked; else the problem, and whether nvidia-smi surely changed nothing
 */
function lockGraphics(ask: AskNvidiaSmi, gpu: LockableGpu, { bounds, limitMhz, policy }: ChosenClocks) {
  const { exitCode, problem, text } = ask(['-i', gpu.gpuUuid, '-lgc', bounds]);
  if (exitCode === NO_PERMISSION || NEEDS_RIGHTS.test(text)) {
    return {
      isUnchanged: true,
      problem: `no permission to lock the clocks of ${gpuOf(gpu)}: run bench as root (in a container with CAP_SYS_ADMIN), or without --lock-clocks; nothing was measured`,
    };
  }
  if (problem !== null || !IS_SET.test(text)) {
    const reason = problem ?? `nvidia-smi says: ${printable(text.split('\n')[0] ?? '')}`;
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
