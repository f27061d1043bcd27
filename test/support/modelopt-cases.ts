import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { ROOT } from './bench.ts';

const FOLDER = join(ROOT, 'test', 'fixtures', 'modelopt');

export interface ModeloptCase {
  readonly name: string;
  readonly exitCode: number;
  readonly argv: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Every recorded run of ModelOpt 0.47.0 (Python 3.11, CPU): its logs, with paths replaced by words such as `<venv>`. */
export function modeloptCases(): ModeloptCase[] {
  const [, ...lines] = readFileSync(join(FOLDER, 'cases.tsv'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [name = '', exitCode = '', , , , , argv = ''] = line.split('\t');
    return { name, exitCode: Number(exitCode), argv, ...logsOf(name) };
  });
}

export function logsOf(name: string): { readonly stdout: string; readonly stderr: string } {
  return { stdout: logText(`${name}.stdout.log.br`), stderr: logText(`${name}.stderr.log.br`) };
}

/** A log that is not there was empty. */
function logText(file: string): string {
  try {
    return brotliDecompressSync(readFileSync(join(FOLDER, file))).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
