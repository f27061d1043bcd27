import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, type Finished, temporaryFolder } from '../../support/bench.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { model, toBytes, valueInfo, writeSparse } from '../../support/onnx-writer.ts';
import { H200_REPORT, stubSmi } from '../../support/nvidia-smi.ts';
import { STUB } from '../../support/stub.ts';

const MODELS = ['vit_tiny.onnx', 'mlp_tiny.onnx', 'external.onnx', 'external.weights'];

/** A matrix in a folder with models of this repository, and other files. */
function folderWith(lines: readonly string[], files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const cwd = temporaryFolder();
  for (const name of [...MODELS, 'control_flow.onnx']) copyFileSync(join(ONNX_MODELS, name), join(cwd, name));
  writeSparse(join(cwd, 'fixed.onnx'), model(17, ...valueInfo(11, 'x', [8, 3])));
  for (const [name, content] of Object.entries({ 'm.yaml': lines.join('\n'), ...files })) {
    writeFileSync(join(cwd, name), content);
  }
  return cwd;
}

const plan = (cwd: string): Promise<Finished> => bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd });

const notesIn = ({ stdout }: Finished): string[] => stdout.split('\n').filter((line) => line.startsWith('note: '));

/** Notes of a plan that is made, and a path in them as `CWD`. */
async function notesOf(lines: readonly string[], files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const cwd = folderWith(lines, files);
  const finished = await plan(cwd);
  expect([finished.code, finished.stderr]).toEqual([0, '']);
  return notesIn(finished).map((note) => note.replace(cwd, 'CWD'));
}

async function problemsOf(lines: readonly string[], files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const cwd = folderWith(lines, files);
  const { code, stdout, stderr } = await plan(cwd);
  expect([code, stdout]).toEqual([2, '']);
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^bench: /, '').replace(cwd, 'CWD'));
}

const WRONG = [
  'models:',
  '  vit: {onnx: vit_tiny.onnx, shapes: {imput: [batch, 3, 32, 32]}}',
  '  sized: {onnx: vit_tiny.onnx, shapes: {input: [batch, 3, size, 30]}}',
  '  mlp: {onnx: mlp_tiny.onnx, shapes: static}',
  '  text: {onnx: external.onnx, shapes: {input_ids: [batch]}}',
  '  fixed: {onnx: fixed.onnx, shapes: {x: 8x3}}',
  'axes: {precision: fp32, batch: [1, 8], size: [32, 64], cudaGraph: [on, off]}',
  'build: {opt: {batch: 8, size: 32}}',
];
const MISTAKES = [
  'm.yaml:2:38: model "vit" has no input "imput" (it has input); did you mean "input"?',
  'm.yaml:3:40: input "input" has 30 in dimension 3 here, and is [batch, 3, 32, 32] in the model',
  'm.yaml:3:40: input "input" has 64 in dimension 2 here, and is [batch, 3, 32, 32] in the model',
  'm.yaml:4:38: model "mlp": an input has dynamic dimensions and no shape here: add input: [batch, 64]',
  'm.yaml:5:39: input "input_ids" has 1 dimension here, and is [batch, sequence] in the model',
  'm.yaml:5:39: model "text": an input has dynamic dimensions and no shape here: add attention_mask: [batch, sequence, 16]',
  'm.yaml:6:37: model "fixed" has no dynamic dimensions, so trtexec does not accept shapes for it: write shapes: static',
];

describe('inputs of the matrix that the models have not', () => {
  test('plan tells all of them at once, each with its place', async () => {
    expect(await problemsOf(WRONG)).toEqual(MISTAKES);
  });

  test('limits of the profile in a dimension that the model fixes', async () => {
    const vit = '{onnx: vit_tiny.onnx, shapes: {input: [batch, 3, 32, 32]}, build: {max: {input: 8x3x32x64}}}';
    expect(await problemsOf([`models: {vit: ${vit}}`, 'axes: {precision: fp32, batch: [8]}'])).toEqual([
      'm.yaml:1:45: input "input" has 64 in dimension 3 in build.max, and is [batch, 3, 32, 32] in the model',
    ]);
  });

  test('files with real inputs: their names, and their bytes against type and shape', async () => {
    const lines = [
      'models:',
      '  vit: {onnx: vit_tiny.onnx, shapes: {input: [batch, 3, 32, 32]}, inputs: {input: half.bin}}',
      '  fixed: {onnx: fixed.onnx, shapes: static, inputs: {y: right.bin, x: right.bin}}',
      'axes: {precision: fp32, batch: [1]}',
    ];
    const files = { 'half.bin': Buffer.alloc(3 * 32 * 32 * 2), 'right.bin': Buffer.alloc(8 * 3 * 2) };
    expect(await problemsOf(lines, files)).toEqual([
      'm.yaml:2:83: inputs.input: the file has 6144 bytes; 1x3x32x32 of float32 takes 12288',
      'm.yaml:3:57: inputs: model "fixed" has no input "y" (it has x); did you mean "x"?',
    ]);
  });
});

describe('what is no mistake', () => {
  const right = [
    'models:',
    '  text: {onnx: external.onnx, shapes: {input_ids: [batch, 7], attention*: [batch, 7, 16]}}',
    'axes: {precision: fp32, batch: [1, 8]}',
    'build: {opt: {batch: 8}}',
  ];

  test('operators that make random inputs or CUDA graphs doubtful are notes', async () => {
    const cf = 'models: {cf: {onnx: control_flow.onnx, shapes: {x: [batch, 7, 4]}}}';
    expect(await notesOf([cf, 'axes: {precision: fp32, batch: 8, cudaGraph: [on, off]}'])).toEqual([
      'note: m.yaml:1:10: model "cf" has NonZero (2): the amount of work depends on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE})',
      'note: m.yaml:1:10: model "cf" has If (1), Loop (1): the host evaluates them, so a CUDA graph is unlikely to be captured or to help; measure with cudaGraph: off too',
    ]);
  });

  test('inputs of one value throughout, zeros or ones, are a note', async () => {
    const lines = [
      'models:',
      '  fixed: {onnx: fixed.onnx, shapes: static, inputs: {x: zeros.bin}}',
      '  real: {onnx: fixed.onnx, shapes: static, inputs: {x: values.bin}}',
      '  ones: {onnx: fixed.onnx, shapes: static, inputs: {x: ones.bin}}',
      'axes: {precision: fp32}',
    ];
    const ones = Buffer.from(new Float32Array(12).fill(1).buffer);
    const files = { 'zeros.bin': Buffer.alloc(48), 'ones.bin': ones, 'values.bin': Buffer.alloc(48).fill(1, 40) };
    const note = 'inputs.x: one value throughout: a GPU draws less power on it, and clocks higher, than on real values';
    expect(await notesOf(lines, files)).toEqual([`note: m.yaml:2:57: ${note}`, `note: m.yaml:4:56: ${note}`]);
  });

  test('without shapes the model says them, where only its first dimension is dynamic', async () => {
    const cwd = folderWith([
      'models: {vit: {onnx: vit_tiny.onnx}, fixed: {onnx: fixed.onnx}}',
      'axes: {precision: fp32, batch: 8}',
    ]);
    const finished = await plan(cwd);
    expect([finished.code, notesIn(finished)]).toEqual([0, []]);
    expect(finished.stdout).toContain('--shapes=input:8x3x32x32');
    expect(finished.stdout).toContain('fixed fp32');
    expect(finished.stdout.match(/--shapes=/g)).toHaveLength(1);
  });

  test('several builds have an engine, a timing cache and a run command each', async () => {
    const finished = await plan(
      folderWith(['models: {vit: {onnx: vit_tiny.onnx}}', 'axes: {precision: fp32, batch: 8}', 'builds: 3']),
    );
    const valuesOf = (flag: string): string[] =>
      [...finished.stdout.matchAll(new RegExp(`--${flag}=engines/([0-9a-f]{8})`, 'g'))].map(([, ref = '']) => ref);
    const saved = valuesOf('saveEngine');
    expect(new Set(saved).size).toBe(3);
    expect([valuesOf('loadEngine').toSorted(), valuesOf('timingCacheFile')]).toEqual([saved.toSorted(), saved]);
  });

  test('a core of the DLA is launched without a CUDA graph, by its axis and by its flag', async () => {
    for (const axis of ['device: dla0', '--useDLACore: 0']) {
      const { stdout } = await plan(
        folderWith(['models: {vit: {onnx: vit_tiny.onnx}}', `axes: {precision: fp32, batch: 8, ${axis}}`]),
      );
      expect(stdout).toContain('--useDLACore=0');
      expect(stdout).not.toContain('--useCudaGraph');
    }
  });

  test('other dynamic dimensions have to be stated', async () => {
    const models = 'models: {text: {onnx: external.onnx}, open: {onnx: open.onnx}}';
    const open = toBytes(model(17, ...valueInfo(11, 'x', ['', '', 3])));
    const text =
      'states no shapes: write shapes: {INPUT: [batch, 3, 224, 224]}, or shapes: static for a model without dynamic dimensions';
    expect(await problemsOf([models, 'axes: {precision: fp32}'], { 'open.onnx': open })).toEqual([
      `m.yaml:1:10: model "text" ${text}`,
      `m.yaml:1:39: model "open" ${text}`,
    ]);
  });

  test('a file that would give the shapes and is missing, or no model, is the only mistake', async () => {
    const models = 'models: {gone: {onnx: gone.onnx}, text: {precisions: {fp32: {onnx: text.onnx}}}}';
    expect(await problemsOf([models, 'axes: {precision: fp32, batch: 8}'], { 'text.onnx': 'a model' })).toEqual([
      'm.yaml:1:23: CWD/gone.onnx, which gives the shapes of model "gone": file not found',
      'm.yaml:1:61: CWD/text.onnx, which gives the shapes of model "text": not readable as ONNX: byte 0: no field of a protobuf message',
    ]);
  });

  test.each([
    ['1:44', 'axes: {precision: fp32, sparsity: [enable, force]}'],
    ['1:37', 'axes: {precision: fp32, --sparsity: force}'],
    ['1:17', 'build: {flags: {--sparsity: force}}'],
  ])('sparsity force is refused with what to do instead, at %s', async (place, stated) => {
    const fixed = 'models: {fixed: {onnx: fixed.onnx}}';
    expect(await problemsOf([stated, fixed])).toEqual([
      `m.yaml:${place}: sparsity force is refused: it overwrites weights, so that outputs are wrong, and is deprecated; prune the model (polygraphy surgeon prune MODEL -o PRUNED) and state sparsity: enable`,
    ]);
  });

  test('weights that are not there are a note for plan, and a mistake for run', async () => {
    const cwd = folderWith(right);
    rmSync(join(cwd, 'external.weights'));
    const line = `m.yaml:2:16: ${join(cwd, 'external.onnx')}: weights in external.weights: file not found`;
    const planned = await plan(cwd);
    expect([planned.code, notesIn(planned)]).toEqual([0, [`note: ${line}`]]);
    const run = await bench(['run', 'm.yaml', '--trtexec', STUB], { cwd });
    expect([run.code, run.stderr]).toEqual([2, `bench: ${line}\n`]);
  });

  test('calibration data that are not there, or are a folder, are a note for plan, and a mistake for run', async () => {
    const lines = [
      'models: {fixed: {onnx: fixed.onnx}}',
      'precisions:',
      '  int8: {via: modelopt, calibration: {data: none.npz}}',
      '  fp8: {via: modelopt, calibration: {data: folder}}',
      'axes: {precision: [int8, fp8]}',
    ];
    const cwd = folderWith(lines);
    mkdirSync(join(cwd, 'folder'));
    const problems = [
      `m.yaml:3:9: ${join(cwd, 'none.npz')}: file not found`,
      `m.yaml:4:8: ${join(cwd, 'folder')}: is a folder`,
    ];
    const planned = await plan(cwd);
    const told = notesIn(planned).filter((note) => !note.includes('executes what'));
    expect([planned.code, told]).toEqual([0, problems.map((problem) => `note: ${problem}`)]);
    const run = await bench(['run', 'm.yaml', '--trtexec', STUB], { cwd });
    expect([run.code, run.stderr]).toEqual([2, problems.map((problem) => `bench: ${problem}\n`).join('')]);
  });

  test('a file that bench cannot read as ONNX: trtexec has the last word', async () => {
    expect(await notesOf(right, { 'external.onnx': 'a model' })).toEqual([
      'note: m.yaml:2:16: CWD/external.onnx: not readable as ONNX: byte 0: no field of a protobuf message; its inputs are not checked',
    ]);
    const cwd = folderWith(right, { 'external.onnx': '' });
    const { code, stderr } = await bench(['run', 'm.yaml', '--trtexec', STUB], { cwd });
    const empty = `bench: m.yaml:2:16: ${join(cwd, 'external.onnx')}: not readable as ONNX: the file is empty\n`;
    expect([code, stderr]).toEqual([2, empty]);
  });
});

describe('what the GPU here cannot do is a note', () => {
  const report = readFileSync(H200_REPORT, 'utf8');
  const matrix = [
    'models:',
    '  vit: {onnx: vit_tiny.onnx, shapes: {input: [batch, 3, 32, 32]}}',
    'axes: {precision: [fp16, fp8], batch: [8]}',
  ];

  async function notesOn(gpu: string, architecture: string | null, lines = matrix) {
    const folder = temporaryFolder();
    const path = join(folder, 'report.xml');
    const named = architecture === null ? '' : `<product_architecture>${architecture}</product_architecture>`;
    writeFileSync(path, report.replaceAll('NVIDIA H200', gpu).replace(/<product_architecture>.*<.*>/, named));
    const smi = stubSmi({ report: path }, folder);
    const finished = await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folderWith(lines), env: smi.env });
    expect(finished.code).toBe(0);
    return { notes: notesIn(finished), asked: smi.starts().length };
  }

  const fp8 = (gpu: string): string =>
    `note: m.yaml:3:26: FP8 needs a GPU of SM 8.9 (Ada) or newer, and ${gpu} is older`;

  test.each([
    ['NVIDIA H200', 'Hopper', []],
    ['NVIDIA L4', 'Ada Lovelace', []],
    ['NVIDIA RTX 6000 Ada Generation', null, []],
    ['Tesla T4', 'Turing', [fp8('Tesla T4')]],
    ['NVIDIA GeForce RTX 3090', 'Ampere', [fp8('NVIDIA GeForce RTX 3090')]],
  ])('%s (%s): FP8 below SM 8.9', async (gpu, architecture, notes) => {
    expect((await notesOn(gpu, architecture)).notes).toEqual(notes);
  });
});
