import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, finished, ROOT, startBench, temporaryFolder, refusal } from '../../support/bench.ts';

const { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } = fs;
const { statSync, writeFileSync } = fs;
const STUB = join(import.meta.dirname, '..', '..', 'support', 'stub-python.mjs');
const MODELS = join(ROOT, 'test', 'fixtures', 'onnx');
const DATA = join(ROOT, 'test', 'fixtures', 'calibration');

/** A folder with a model, a store and a stand-in for Python that writes down what it was asked to convert. */
class Workshop {
  readonly folder = temporaryFolder();
  readonly journal = join(this.folder, 'journal.txt');

  constructor(model = 'vit_tiny.onnx') {
    copyFileSync(join(MODELS, model), join(this.folder, 'm.onnx'));
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  options(rules: object = {}) {
    const stub = JSON.stringify({ journal: this.journal, ...rules });
    return { cwd: this.folder, env: { STUB_PYTHON: stub, BENCH_PYTHON: STUB } };
  }

  quantize(args: readonly string[], rules: object = {}) {
    return bench(['model', 'quantize', ...args], this.options(rules));
  }

  async json(args: readonly string[], rules: object = {}) {
    const { stdout, stderr, code } = await this.quantize([...args, '--json'], rules);
    if (code !== 0) throw new Error(stderr);
    return OUTPUTS.quantize.parse(JSON.parse(stdout));
  }

  get conversions(): string[] {
    return existsSync(this.journal) ? readFileSync(this.journal, 'utf8').trimEnd().split('\n') : [];
  }

  get variants(): string[] {
    return readdirSync(this.path('variants')).filter((name) => name !== '.gitignore' && !name.endsWith('.lock'));
  }
}

describe('bench model quantize', () => {
  test('makes a variant, says what it is, and has it the next time', async () => {
    const shop = new Workshop();
    const { code, stdout, stderr } = await shop.quantize(['m.onnx', '--precision', 'fp8']);
    expect([code, stderr]).toEqual([0, 'converting m.onnx to fp8\n']);
    const [what, label, path] = stdout.split('\n');
    expect(what).toMatch(/^fp8 by ModelOpt 0\.47\.0: 18 quantized nodes, variant [0-9a-f]{12} \(made in /);
    expect(label).toBe('calibrated on random data: speed only');
    const again = await shop.json(['m.onnx', '--precision', 'fp8']);
    expect([again.how, again.path, again.wallS]).toEqual(['cached', path, null]);
    expect(shop.conversions).toEqual([again.argv.slice(1).join(' ')]);
  });

  test('works on a private copy: the model is not touched, and nothing is left behind', async () => {
    const shop = new Workshop();
    const before = statSync(shop.path('m.onnx'));
    const made = await shop.json(['m.onnx', '--precision', 'int8']);
    const after = statSync(shop.path('m.onnx'));
    expect([after.mtimeMs, after.size, after.ino]).toEqual([before.mtimeMs, before.size, before.ino]);
    expect(readdirSync(shop.folder).toSorted()).toEqual(['journal.txt', 'm.onnx', 'variants']);
    expect(shop.variants).toHaveLength(1);
    const left = ['stderr.log', 'stdout.log', 'variant.json', 'variant.onnx'];
    expect(readdirSync(join(made.path, '..')).toSorted()).toEqual(left);
  });

  test('--output gives a copy, with its folder; where it cannot be written it ends with 3', async () => {
    const shop = new Workshop();
    const made = await shop.json(['m.onnx', '--precision', 'fp8', '--output', 'out/m_fp8.onnx']);
    expect(made.output).toBe(shop.path('out', 'm_fp8.onnx'));
    expect(readFileSync(shop.path('out', 'm_fp8.onnx'))).toEqual(readFileSync(made.path));
    const { code, stderr } = await shop.quantize(['m.onnx', '--precision', 'fp8', '--output', 'm.onnx/x.onnx']);
    const problem = /^bench: \S+\/m\.onnx\/x\.onnx cannot be written: a part of its path is not a folder$/m;
    expect([code, stderr]).toEqual([3, expect.stringMatching(problem)]);
  });

  test('external data of a model are brought along', async () => {
    const shop = new Workshop('external.onnx');
    copyFileSync(join(MODELS, 'external.weights'), shop.path('external.weights'));
    const args = ['m.onnx', '--precision', 'fp8', '--calibration-shapes', 'input_ids:2x8,attention_mask:2x8x16'];
    const made = await shop.json(args);
    appendFileSync(shop.path('external.weights'), 'more');
    const other = await shop.json(args);
    expect(other.how).toBe('made');
    expect(other.baseSha256).not.toBe(made.baseSha256);
    renameSync(shop.path('external.weights'), shop.path('elsewhere'));
    const line = `bench: ${shop.path('m.onnx')}: its external data external.weights: file not found\n`;
    expect(await shop.quantize(args)).toEqual(refusal(line));
  });
});

describe('what a variant hangs on', () => {
  test('names do not count; content, options, data and versions do', async () => {
    const shop = new Workshop();
    const first = await shop.json(['m.onnx', '--precision', 'fp8']);
    mkdirSync(shop.path('other'));
    renameSync(shop.path('m.onnx'), shop.path('other', 'renamed.onnx'));
    const model = 'other/renamed.onnx';
    const same = await shop.json([model, '--precision', 'fp8']);
    expect([same.how, same.path]).toEqual(['cached', first.path]);

    const others: [readonly string[], object?][] = [
      [['--precision', 'fp8', '--exclude', 'head']],
      [['--precision', 'fp8', '--calibration-shapes', 'input:4x3x32x32']],
      [['--precision', 'fp8'], { packages: { onnx: '9.9' } }],
      [['--precision', 'fp16']],
    ];
    for (const [args, rules] of others) {
      expect([args, (await shop.json([model, ...args], rules)).how]).toEqual([args, 'made']);
    }
    expect(shop.variants).toHaveLength(5);
  });

  test('a variant whose bytes have changed is made again', async () => {
    const shop = new Workshop();
    const first = await shop.json(['m.onnx', '--precision', 'fp8']);
    appendFileSync(first.path, 'x');
    const again = await shop.json(['m.onnx', '--precision', 'fp8']);
    expect([again.how, again.sha256]).toEqual(['made', first.sha256]);
  });

  test('two processes that want the same one make it once', async () => {
    const shop = new Workshop();
    const go = shop.path('go');
    const options = shop.options({ waitFor: go });
    const start = () => startBench(['model', 'quantize', 'm.onnx', '--precision', 'fp8', '--json'], options);
    const first = start();
    const second = start();
    const both = [finished(first), finished(second)] as const;
    // One waits for the other as soon as it says so; only then the conversion may end.
    await new Promise<void>((resolve) => {
      for (const child of [first, second]) {
        child.stderr?.on('data', (text: Buffer) => {
          if (text.toString().includes('waiting for it')) resolve();
        });
      }
    });
    writeFileSync(go, '');
    const ended = await Promise.all(both);
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    const hows = ended.map(({ stdout }) => OUTPUTS.quantize.parse(JSON.parse(stdout)).how);
    expect([hows.toSorted(), shop.conversions.length, shop.variants.length]).toEqual([['cached', 'made'], 1, 1]);
  });
});

describe('what is refused', () => {
  test('no node was quantized, although ModelOpt ended with 0', async () => {
    const shop = new Workshop('mlp_tiny.onnx');
    const { code, stdout, stderr } = await shop.quantize(['m.onnx', '--precision', 'fp8'], { case: 'ok_mlp_tiny_fp8' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('bench: ModelOpt quantized no node of ');
    expect(stderr).toContain('it would not be fp8');
    const log = /\(log: (.+)\)/.exec(stderr)?.[1] ?? '';
    expect(readFileSync(join(log, 'stdout.log'), 'utf8')).toContain('quantized nodes: 0');
  });

  test('a log that speaks of nodes which the file does not have', async () => {
    const shop = new Workshop();
    const { code, stderr } = await shop.quantize(['m.onnx', '--precision', 'fp8'], { leaves: 'mlp_tiny.onnx' });
    expect(code).toBe(2);
    expect(stderr).toContain('said that it quantized 18 nodes, and the file has no Q/DQ node');
    const none = await shop.quantize(['m.onnx', '--precision', 'int8'], { leaves: null });
    expect(none.stderr).toContain('it did not write an ONNX model');
  });

  test.for([
    ['err_no_torch', 3, 'Please install|a package of ModelOpt is missing in '],
    ['err_disk_full_tmp', 4, 'the disk is full: '],
    ['err_calib_nan', 2, 'it ended with: ValueError: Too many bins for data range'],
    ['err_custom_op', 2, "the custom operator 'MyPlugin'"],
    ['err_unknown_flag', 2, 'unrecognized arguments: --turbo: bench knows 0.47.0'],
  ] as const)('%s: exit code %i', async ([recorded, exitCode, words]) => {
    const shop = new Workshop();
    const { code, stderr } = await shop.quantize(['m.onnx', '--precision', 'fp8'], { case: recorded });
    expect([code, stderr.split('\n').filter((line) => line.startsWith('bench: ')).length]).toEqual([exitCode, 1]);
    expect(stderr).toMatch(new RegExp(words));
    expect(shop.variants.filter((name) => !name.endsWith('.failed'))).toEqual([]);
  });

  test('a failure that may pass is tried again', async () => {
    const shop = new Workshop();
    await shop.quantize(['m.onnx', '--precision', 'fp8'], { case: 'err_disk_full_tmp' });
    const made = await shop.json(['m.onnx', '--precision', 'fp8']);
    expect([made.how, shop.variants.filter((name) => name.endsWith('.failed'))]).toEqual(['made', []]);
  });

  test.for([
    [['none.onnx', '--precision', 'fp8'], 'none.onnx: model not found or not readable'],

    [['m.onnx', '--precision', 'fp8', '--calibration', 'none.npz'], 'none.npz: calibration data not found'],
    [['m.onnx', '--precision', 'fp8', '--calibration', join(DATA, 'make.py')], 'make.py: it is no npz file'],

    [['m.onnx', '--precision', 'fp8', '--calibration-shapes', '8x3'], 'must be shapes such as input:8x3x224x224'],

    [['m.onnx', '--precision', 'fp16', '--dq-only'], 'dqOnly is an option of modelopt'],
    [['m.onnx', '--precision', 'fp8', '--output', 'm.onnx'], '--output is the model itself'],
  ] as const)('%j', async ([args, words]) => {
    const shop = new Workshop();
    const { code, stderr } = await shop.quantize(args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
    expect([stderr.split('\n').filter((line) => line.startsWith('bench: ')).length, shop.conversions]).toEqual([1, []]);
  });
});

test('Ctrl-C ends the conversion, leaves nothing and exits with 130', async () => {
  const shop = new Workshop();
  const child = startBench(['model', 'quantize', 'm.onnx', '--precision', 'fp8'], shop.options({ hangs: true }));
  const ended = finished(child);
  while (shop.conversions.length === 0) await sleep(20);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining('interrupted') });
  expect(shop.variants).toEqual([]);
});

test('a conversion that takes too long is ended, and says so', async () => {
  const shop = new Workshop();
  const args = ['m.onnx', '--precision', 'fp8', '--timeout', '1s'];
  const stderr = expect.stringContaining('stopped by the time limit');
  expect(await shop.quantize(args, { hangs: true })).toMatchObject({ code: 4, stderr });
});
