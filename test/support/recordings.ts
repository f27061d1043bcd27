import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import type { TrtexecRun } from '../../src/trtexec/log/run-builder.ts';
import { ROOT } from './bench.ts';
import { parseTrtexecLog } from './whole-files.ts';

/** trtexec 10.6.0 on an H200; see docs/how-to/store.md. */
export const FIXTURES = join(ROOT, 'test', 'fixtures', 'trtexec');
/** 20 s at the power cap, with what nvidia-smi printed beside it. */
export const SUSTAINED = join(FIXTURES, 'sustained');
export const GUIDE = join(ROOT, 'test', 'fixtures', 'guide');

export function readFixture(path: string): Buffer {
  const bytes = readFileSync(join(FIXTURES, path));
  return path.endsWith('.br') ? brotliDecompressSync(bytes) : bytes;
}

/** The only run in a recorded folder. */
export const recordedRun = (folder: string): TrtexecRun =>
  onlyRun(readFixture(join(folder, 'stdout.log.br')), readOptional(join(folder, 'stderr.log.br')));

export function onlyRun(stdout: Buffer | string, stderr: Buffer | string = ''): TrtexecRun {
  const { runs } = parseTrtexecLog(stdout, stderr);
  const [run] = runs;
  if (run === undefined || runs.length !== 1) throw new Error(`${runs.length} runs instead of one`);
  return run;
}

function readOptional(path: string): Buffer {
  try {
    return readFixture(path);
  } catch {
    return Buffer.alloc(0);
  }
}
