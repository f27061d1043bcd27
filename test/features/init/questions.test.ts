import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { init } from '../../../src/features/init/init.ts';
import type { Io } from '../../../src/cli/io.ts';
import { loadMatrix } from '../../../src/matrix/load.ts';
import { ROOT, temporaryFolder } from '../../support/bench.ts';
import { testIo } from '../../support/io.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { HAS_TERMINALS, needs, typeInto } from '../../support/shells.ts';
import { STUB } from '../../support/stub.ts';

/** Somebody at a terminal who types these lines. */
function terminal(cwd: string, lines: readonly string[]): { io: Io; shown: () => string } {
  let shown = '';
  const io = {
    ...testIo(),
    cwd,
    env: { PATH: process.env['PATH'], TRTEXEC: STUB },
    canAsk: true,
    stdin: typed(lines),
    err: (text: string) => void (shown += text),
  };
  return { io, shown: () => shown };
}

async function* typed(lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`);
}

function cellsOf(cwd: string): string[] {
  const text = readFileSync(join(cwd, 'matrix.yaml'), 'utf8');
  const matrix = loadMatrix('matrix.yaml', {
    cwd: '/',
    readText: () => text,
    hashFiles: () => new Map(),
    readInputs: () => null,
  });
  return matrix.cells.map(({ cell: { model, precision, shapes } }) =>
    [model, precision, Object.values(shapes)[0]?.join('x')].join(' '),
  );
}

function twoModels(): string {
  const cwd = temporaryFolder();
  for (const name of ['vit_tiny', 'mlp_tiny']) {
    copyFileSync(join(ONNX_MODELS, `${name}.onnx`), join(cwd, `${name}.onnx`));
  }
  return cwd;
}

describe('on a terminal', () => {
  test('empty answers take what is proposed', async () => {
    const cwd = twoModels();
    const { io, shown } = terminal(cwd, ['', '', '', '', '', '']);
    expect(await init([], { output: 'matrix.yaml' }, io)).toBe(0);
    expect(cellsOf(cwd)).toHaveLength(12);
    // The batch of the second model is that of the first.
    expect(shown().match(/sizes of batch/g)).toHaveLength(1);
  });

  test('answers decide; one that cannot be is asked again', async () => {
    const cwd = twoModels();
    const { io, shown } = terminal(cwd, ['vit', 'vit_tiny', 'fp61', 'fp16', '0', '4 2']);
    expect(await init([], { output: 'matrix.yaml' }, io)).toBe(0);
    expect(shown()).toContain('"vit" is not one of mlp_tiny, vit_tiny');
    expect(shown()).toContain('did you mean fp16?');
    expect(shown()).toContain('write whole numbers from 1 on');
    expect(cellsOf(cwd)).toEqual(['vit_tiny fp16 4x3x32x32', 'vit_tiny fp16 2x3x32x32']);
    const text = readFileSync(join(cwd, 'matrix.yaml'), 'utf8');
    expect(text).toContain('batch: [4, 2]\n');
    expect(text).toContain('max: { batch: 4 }');
  });

  test('the end of the input writes nothing', async () => {
    const cwd = twoModels();
    const { io } = terminal(cwd, ['all']);
    await expect(init([], { output: 'matrix.yaml' }, io)).rejects.toMatchObject({ exitCode: 130 });
    expect(existsSync(join(cwd, 'matrix.yaml'))).toBe(false);
  });

  test('--yes asks nothing', async () => {
    const cwd = twoModels();
    const { io, shown } = terminal(cwd, []);
    expect(await init([], { output: 'matrix.yaml', yes: true }, io)).toBe(0);
    expect(shown()).toBe('');
  });
});

describe.skipIf(!HAS_TERMINALS)(`on a real terminal (${needs('script')})`, () => {
  const BENCH = [process.execPath, join(ROOT, 'bin', 'bench.js')];
  const ENV = { TRTEXEC: STUB, CI: undefined, NO_COLOR: '1' };

  test('it asks, and takes the answer', async () => {
    const cwd = twoModels();
    const keys = 'mlp_tiny\rfp32\r16\r';
    const { code, shown } = await typeInto([...BENCH, 'init'], keys, cwd, ENV, 'Which models');
    expect(shown).toContain('matrix.yaml: 1 model, 1 cell');
    expect(code).toBe(0);
    expect(cellsOf(cwd)).toEqual(['mlp_tiny fp32 16x64']);
  });

  test('Ctrl-C at a question ends it, and nothing is written', async () => {
    const cwd = twoModels();
    const keys = '\u0003';
    const { code, shown } = await typeInto([...BENCH, 'init'], keys, cwd, ENV, 'Which models');
    expect(shown).toContain('bench: interrupted');
    expect(code).toBe(130);
    expect(existsSync(join(cwd, 'matrix.yaml'))).toBe(false);
  });
});
