import { writeSync } from 'node:fs';

import { BenchError, errorCode, UsageError } from '../../errors.ts';
import { answer } from './answer.ts';

/** Acts as trtexec for `--replay`. Settings come from the environment, because all arguments are trtexec's. */
function main(): void {
  const { env } = process;
  const folder = env['BENCH_REPLAY_SET'];
  if (folder === undefined) throw new UsageError('BENCH_REPLAY_SET names no folder of recordings');
  const given = answer(process.argv.slice(2), {
    folder,
    cwd: process.cwd(),
    index: Number(env['BENCH_REPLAY_INDEX'] ?? 0),
    reportPath: env['BENCH_REPLAY_REPORT'] ?? null,
  });
  writeAll(1, given.stdout);
  writeAll(2, given.stderr);
  const waitMs = env['BENCH_REPLAY_TIMING'] === 'original' ? given.wallS * 1000 : 0;
  setTimeout(() => {
    if (given.signal !== null) process.kill(process.pid, given.signal);
    else process.exitCode = given.exitCode;
  }, waitMs);
}

/** A write to a pipe may be partial. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error;
    }
  }
}

try {
  main();
} catch (error) {
  if (!(error instanceof BenchError)) throw error;
  process.stderr.write(`replay error: ${error.message}\n`);
  // trtexec itself only uses 0 and 1.
  process.exitCode = 2;
}
