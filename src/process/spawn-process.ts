import * as fs from 'node:fs';
import { constants as system } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';

import { orNull } from '../errors.ts';
import type { TimeLimit } from '../records/time-limit.ts';
import { omittedLine } from '../text/printable.ts';
import { definedVariables } from './environment-variables.ts';
import { MARK_VARIABLE, endMarked } from './process-identity.ts';
import type { OutputReader, Spawn } from './spawn.ts';

/** A longer log keeps the first and the last half of this size. */
const LOG_CAP_BYTES = 64 << 20;

/** A process with a longer log is ended. */
const LONGEST_LOG_BYTES = 1 << 30;

const READ_BYTES = 1 << 18;

/** A longer line at the cut is cut in its middle. */
const LONGEST_LINE = 1 << 16;

/**
 * A log that a process writes directly to a file. The output survives a kill of bench, and does not pass through bench
 * during timing. It is trimmed after the process has ended.
 */
export class CappedLog {
  readonly fd: number;
  private readonly path: string;
  private readonly capBytes: number;
  private seen = 0;

  constructor(path: string, capBytes = LOG_CAP_BYTES) {
    this.path = path;
    this.capBytes = capBytes;
    // Truncate an existing file instead of appending to it.
    fs.closeSync(fs.openSync(path, 'w'));
    this.fd = fs.openSync(path, 'a+');
  }

  /** Output since the last call, limited to its last 256 KiB, and the total size. */
  take(): { readonly text: string; readonly size: number } {
    const { size } = fs.fstatSync(this.fd);
    const bytes = Math.min(Math.max(0, size - this.seen), READ_BYTES);
    this.seen = size;
    return { text: this.read(size - bytes, size).toString('utf8'), size };
  }

  finish(): void {
    try {
      if (fs.fstatSync(this.fd).size > this.capBytes) this.trim(fs.fstatSync(this.fd).size);
    } finally {
      fs.closeSync(this.fd);
    }
  }

  /** Drops the middle, at ends of lines that are near. */
  private trim(size: number): void {
    const half = Math.floor(this.capBytes / 2);
    const [start, end] = [this.read(0, half), this.read(size - half, size)];
    const [lastLine, firstEnd] = [start.lastIndexOf('\n') + 1, end.indexOf('\n') + 1];
    const head = lastLine === 0 || half - lastLine > LONGEST_LINE ? start : start.subarray(0, lastLine);
    const tail = firstEnd > LONGEST_LINE ? end : end.subarray(firstEnd);
    const omitted = omittedLine(size - head.length - tail.length);
    const target = `${this.path}.whole`;
    fs.writeFileSync(
      target,
      Buffer.concat([head, Buffer.from(`${head.length === lastLine ? '' : '\n'}${omitted}\n`), tail]),
    );
    fs.renameSync(target, this.path);
  }

  private read(start: number, end: number): Buffer {
    const buffer = Buffer.alloc(end - start);
    return buffer.subarray(0, fs.readSync(this.fd, buffer, 0, buffer.length, start));
  }
}

const LOOK_MS = 1000;

const FIRST_LOOK_MS = 100;

/**
 * Watches output with two `fstat` calls and a read per second, the only work of bench during timing.
 * @returns ends it
 */
function watchOutput(
  logs: Readonly<Record<'stdout' | 'stderr', CappedLog>>,
  reader: OutputReader | undefined,
  onLimit: (limit: TimeLimit | 'logTooLong') => void,
): () => void {
  const start = performance.now();
  const look = (): void => {
    const elapsedS = (performance.now() - start) / 1000;
    for (const stream of ['stdout', 'stderr'] as const) {
      const { size, text } = logs[stream].take();
      reader?.read(text, stream, elapsedS);
      if (size > LONGEST_LOG_BYTES) onLimit('logTooLong');
    }
    const limit = reader?.passed(elapsedS) ?? null;
    if (limit !== null) onLimit(limit);
    // Keep looking, because the process has some seconds to end after a limit.
    timer = setTimeout(look, LOOK_MS);
  };
  let timer = setTimeout(look, FIRST_LOOK_MS);
  return () => clearTimeout(timer);
}

/** Time between SIGTERM and SIGKILL. */
const FORCE_KILL_AFTER_MS = 5_000;

/**
 * Starts a process in its own group, so that all its processes can be ended. It writes directly to files, which survive
 * a kill.
 */
export const spawnProcess: Spawn = async (invocation, signal, onStart) => {
  const { locks = [], mark, stdinPath } = invocation;
  const stdout = new CappedLog(invocation.stdoutPath, invocation.logCapBytes);
  const stderr = new CappedLog(invocation.stderrPath, invocation.logCapBytes);
  const stdin = stdinPath === undefined ? null : fs.openSync(stdinPath, 'r');
  const startedAt = new Date();
  const start = performance.now();
  const overLimit = new AbortController();
  let passedLimit: TimeLimit | 'logTooLong' | null = null;
  const stopWatching = watchOutput({ stdout, stderr }, invocation.reader, (passed) => {
    passedLimit ??= passed;
    overLimit.abort();
  });
  try {
    const subprocess = execa(invocation.file, invocation.args, {
      cwd: invocation.cwd,
      env: { ...definedVariables(invocation.env), ...(mark === undefined ? {} : { [MARK_VARIABLE]: mark }) },
      extendEnv: false,
      stdio: [
        stdin === null ? 'ignore' : fs.createReadStream('', { fd: stdin, autoClose: false }),
        streamOf(stdout.fd, invocation.stdoutPath),
        streamOf(stderr.fd, invocation.stderrPath),
        ...locks.map((lock) => streamOf(lock, '')),
      ],
      buffer: false,
      reject: false,
      timeout: invocation.timeoutMs,
      cancelSignal: AbortSignal.any([signal, overLimit.signal]),
      killDescendants: true,
      forceKillAfterDelay: FORCE_KILL_AFTER_MS,
    });
    const group = subprocess.pid;
    if (group !== undefined) onStart(group);
    const result = await subprocess;
    const wallS = (performance.now() - start) / 1000;
    // Remaining processes must not load the machine during the next run.
    if (group !== undefined) orNull(() => process.kill(-group, 'SIGKILL'));
    if (mark !== undefined) endMarked((found) => found === mark);
    const startProblem = START_PROBLEMS[result.code ?? ''] ?? result.shortMessage ?? 'could not be started';
    const didStart = result.exitCode !== undefined || result.signal !== undefined;
    const logTooLong = passedLimit === 'logTooLong';
    const limit = passedLimit === 'logTooLong' ? null : passedLimit;
    const timedOut = result.timedOut || limit !== null;
    // Signals from users or schedulers. A shell around the program exits with 128 plus the number of the signal.
    const isFromOutside = OUTSIDE_SIGNALS.some(
      (name) => result.signal === name || result.exitCode === 128 + system.signals[name],
    );
    // systemd, scancel or `kill` of a group may signal the process before bench. Wait for the signal, which makes the
    // run interrupted rather than failed.
    if (!timedOut && !result.isCanceled && isFromOutside) {
      await sleep(SIGNAL_TO_TREE_MS, undefined, { signal }).catch(() => {});
    }
    return {
      exitCode: result.exitCode ?? null,
      signal: result.signal ?? null,
      timedOut,
      limit,
      cancelled: (result.isCanceled || signal.aborted) && !timedOut && !logTooLong,
      logTooLong,
      startProblem: didStart || timedOut || result.isCanceled ? null : startProblem,
      startedAt,
      wallS,
    };
  } finally {
    stopWatching();
    if (stdin !== null) fs.closeSync(stdin);
    try {
      stdout.finish();
    } finally {
      stderr.finish();
    }
  }
};

const OUTSIDE_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM'] as const;

const SIGNAL_TO_TREE_MS = 2_000;

/** A stream with a descriptor is passed directly to the process, so that its bytes do not go through bench. */
function streamOf(fd: number, path: string): fs.WriteStream {
  return fs.createWriteStream(path, { fd, autoClose: false });
}

const START_PROBLEMS: Readonly<Record<string, string>> = { ENOENT: 'program not found', EACCES: 'not executable' };
