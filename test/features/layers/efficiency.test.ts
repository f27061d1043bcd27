import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import type { ProfiledEngine } from '../../../src/layers/profiled-engine.ts';
import { overlapNotes } from '../../../src/selection/profiled-engine.ts';
import { withGraphNote } from '../../../src/features/layers/layers.ts';
import { bench, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { onnxNetwork } from '../../support/onnx-models.ts';
import { initializer, model, node, toBytes, valueInfo } from '../../support/onnx-writer.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const python = { BENCH_PYTHON: TEST_PYTHON ?? 'python3' };
const INT8 = join(FIXTURES, 'nights', '1-profile', 'resnet_small.int8.b8');

describe.skipIf(TEST_PYTHON === null)(`bench layers FOLDER --onnx FILE (${NEEDS_PYTHON})`, () => {
  let folder: string;
  const layers = (...args: string[]) =>
    bench(['layers', INT8, ...args], { cwd: folder, env: { COLUMNS: '200', ...python } });

  beforeAll(() => {
    folder = sharedFolder();
    writeFileSync(join(folder, 'resnet.onnx'), onnxNetwork('resnet18'));
  });

  test('as columns, and in two lines below', async () => {
    const { stdout } = await layers('--onnx', 'resnet.onnx', '--top', '2');
    expect(stdout).toMatch(/ GFLOP +of peak +of DRAM +FLOP\/B +roofline /);
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      '29.0 GFLOP a query (resnet.onnx), 199 TFLOP/s, 9.3 % of the dense peak of NVIDIA H200 at 1980 MHz, its highest clock, as none was measured',
    );
  });

  test('without it, with another one, or with what is none: one line', async () => {
    const nothing = await layers('--top', '2');
    const text = 'share of the peak not known: the ONNX model is not known here: --onnx FILE names it';
    expect(nothing.stdout).toContain(text);
    expect(nothing.stdout).not.toContain('of peak ');
    writeFileSync(join(folder, 'other.onnx'), toBytes(model(17, ...node('Relu', ['input'], 'y'))));
    const other = await layers('--onnx', 'other.onnx', '--top', '2');
    expect(other.stdout).toContain('most ONNX nodes of the engine are not in other.onnx: another model');
    writeFileSync(join(folder, 'text.onnx'), 'no model');
    for (const [path, problem] of [
      ['text.onnx', 'not readable as ONNX: '],
      ['none.onnx', 'file or folder not found\n'],
    ]) {
      expect(await layers('--onnx', path ?? '')).toEqual(refusal(`bench: --onnx ${path}: ${problem}`));
    }
  });
});

test('without a Python that has onnx one line says what to install', async () => {
  const folder = sharedFolder();
  writeFileSync(join(folder, 'resnet.onnx'), onnxNetwork('resnet18'));
  const env = { BENCH_PYTHON: 'no-such-python' };
  const { code, stdout } = await bench(['layers', INT8, '--onnx', 'resnet.onnx', '--top', '2'], { cwd: folder, env });
  const expected = [0, expect.stringContaining('share of the peak not known: no-such-python: ')];
  expect([code, stdout.replaceAll(/\s+/g, ' ')]).toEqual(expected);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('name a Python with onnx in $BENCH_PYTHON');
});

describe.skipIf(TEST_PYTHON === null)(
  `in a store, of the model that bench built the engine from (${NEEDS_PYTHON})`,
  () => {
    let folder: string;
    let onnx: string;
    const env = { STUB_GPU: 'NVIDIA H200', STUB_DATATYPE: 'Half', STUB_LAYER: 'node_of_output' };
    const typed = async (...args: string[]) =>
      JSON.parse((await bench([...args, '--json'], { cwd: folder, env: python })).stdout);

    beforeAll(async () => {
      folder = sharedFolder();
      onnx = join(folder, 'model.onnx');
      const matrix = stubMatrix(folder, ['repeats: 1']);
      const ends = [...valueInfo(11, 'input', ['batch', 3]), ...valueInfo(12, 'output', ['batch'])];
      const product = [...initializer('w', 3), ...node('MatMul', ['input', 'w'], 'output')];
      writeFileSync(onnx, toBytes(model(17, ...ends, ...product)));
      const { code, stderr } = await bench(['run', matrix, '--trtexec', STUB, '--profile'], { cwd: folder, env });
      if (code !== 0) throw new Error(stderr);
    }, 60_000);

    test('at the shape of each cell', async () => {
      const shown = [];
      for (const batch of [1, 8]) {
        const { efficiency, layers } = OUTPUTS.layers.parse(await typed('layers', `batch=${batch}`));
        shown.push([efficiency.onnx, efficiency.flops, layers[0]?.efficiency?.bytes, layers[0]?.efficiency?.bound]);
      }
      // A row of three, weights, and a number: each of two bytes.
      expect(shown).toEqual([
        ['model.onnx', 2 * 3, 2 * (3 + 3 + 1), 'memory'],
        ['model.onnx', 8 * 2 * 3, 2 * (8 * 3 + 3 + 8), 'memory'],
      ]);
    });

    test('bench choose and the page have the share of the peak', async () => {
      const [one, eight] = OUTPUTS.pareto.parse(await typed('choose')).workloads[0] ?? [];
      expect([one?.efficiency?.flops, eight?.efficiency?.flops]).toEqual([6, 48]);
      expect(eight?.efficiency?.peakShare).toBeGreaterThan(0);
      expect([eight?.energy, eight?.efficiency?.clockFrom]).toEqual([null, 'published']);
      expect((await bench(['choose'], { cwd: folder, env: python })).stdout).toContain('of peak');
      await bench(['report', '--html', 'page.html'], { cwd: folder, env: python });
      const page = readFileSync(join(folder, 'page.html'), 'utf8');
      expect(page).toContain('<th scope="col" class="number">of peak</th>');
    });

    test('a model that changed since is not taken for it', async () => {
      const before = readFileSync(onnx);
      writeFileSync(onnx, toBytes(model(17, ...node('Relu', ['input'], 'output'))));
      const { efficiency, layers } = OUTPUTS.layers.parse(await typed('layers', 'batch=8'));
      expect([efficiency.flops, layers[0]?.efficiency]).toEqual([null, null]);
      expect(efficiency.missing).toEqual([
        expect.stringMatching(
          /^the ONNX model changed since the engine was built: .*model\.onnx; --onnx FILE names it$/,
        ),
      ]);
      // Written again: newer than the engine, and the same.
      writeFileSync(onnx, before);
      expect(OUTPUTS.layers.parse(await typed('layers', 'batch=8')).efficiency.flops).toBe(48);
    });
  },
);

const ENGINE: ProfiledEngine = {
  ref: 'latest',
  runId: '0123456789abcdef',
  sweepId: null,
  cellKey: null,
  cellLabel: null,
  provenance: 'measured',
  startedAt: null,
  layers: [],
  iterations: 100,
  gpuComputeMs: null,
  cudaGraph: null,
  notes: [],
};

test('a CUDA graph on one side alone is a note', () => {
  const failed = 'a CUDA graph was requested but not used: launches may be part of these times';
  expect(overlapNotes(['graph_fail', 'graph_capturing'])).toEqual([failed]);
  const [graph, launched] = [true, false].map((cudaGraph) => ({ ...ENGINE, cudaGraph }));
  expect(withGraphNote(graph ?? ENGINE, launched ?? ENGINE).notes).toEqual([
    'only the head was launched as a CUDA graph: launches may cause part of the change',
  ]);
  expect(withGraphNote(graph ?? ENGINE, graph ?? ENGINE).notes).toEqual([]);
  expect(withGraphNote(graph ?? ENGINE, ENGINE).notes).toEqual([]);
});

test('a cell whose capture failed is not said to be launched as a CUDA graph', async () => {
  const folder = temporaryFolder();
  const matrix = stubMatrix(folder, ['profile: true']);
  writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('[1, 8]', '1, cudaGraph: [on, off]'));
  const env = { STUB_RULES: JSON.stringify([{ when: 'exportProfile', does: 'noGraph' }]) };
  await bench(['run', matrix, '--trtexec', STUB, '--no-telemetry'], { cwd: folder, env });
  const { stdout } = await bench(['layers', 'small', '--diff', 'cudaGraph=on', 'cudaGraph=off'], { cwd: folder });
  expect(stdout.match(/note: .*/g)).toEqual([
    'note: a CUDA graph was requested but not used: launches may be part of these times',
  ]);
});
