import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { BundleFiles } from '../../../src/features/repro/bundle-files.ts';
import { bench, ROOT, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { unzipped } from '../../support/zip.ts';

function textsOf(zip: string): Map<string, string> {
  return new Map([...unzipped(readFileSync(zip))].map(([name, bytes]) => [name, bytes.toString()]));
}

describe('the bundle of a measured run', () => {
  let cwd: string;
  let zip: string;
  let matrix: string;

  beforeAll(async () => {
    cwd = sharedFolder();
    zip = join(cwd, 'bug.zip');
    matrix = stubMatrix(cwd, ['repeats: 1', 'profile: true', 'name: nightly']);
    const run = await bench(['run', matrix, '--trtexec', STUB, '--no-telemetry'], { cwd });
    if (run.code !== 0) throw new Error(run.stderr);
  }, 60_000);

  const bundle = (...args: readonly string[]) => {
    const [timed] = queryStore<{ id: string }>(
      join(cwd, 'bench.sqlite'),
      "SELECT run_id AS id FROM runs WHERE role = 'timed'",
    );
    return bench(['repro', timed?.id ?? '', '--bundle', zip, ...args], { cwd });
  };

  test('has commands, script, matrix, plan, layers and logs, and says what is in it', async () => {
    const { code, stdout } = await bundle('--json', '--force');
    expect(code).toBe(0);
    const output = OUTPUTS['repro-bundle'].parse(JSON.parse(stdout));
    const texts = textsOf(zip);
    const names = [...texts.keys()];
    expect(names).toEqual(output.files.map(({ name }) => name));
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(
      expect.arrayContaining(
        ['layers.json', 'matrix.yaml', 'plan.json', 'repro.json', 'repro.sh', 'run/run.json', 'run/stdout.log']
          .concat(['build/stdout.log', 'profile/profile.json'])
          .map((name) => `head/${name}`),
      ),
    );
    expect(OUTPUTS.repro.parse(JSON.parse(texts.get('head/repro.json') ?? '')).runId).toBe(output.runId);
    expect(texts.get('head/repro.sh')).toMatch(/^#!\/bin\/sh\n/);
    expect(texts.get('head/matrix.yaml')).toContain('name: nightly');
    for (const name of names.slice(1)) expect(texts.get('README.txt')).toContain(name);
    expect(output).toMatchObject({ baseRunId: null, reduced: null, bytes: readFileSync(zip).length });
  });

  test('has the same bytes when written again, and replaces nothing by itself', async () => {
    await bundle('--force');
    const before = readFileSync(zip);
    const refused = await bundle();
    expect([refused.code, refused.stderr]).toEqual([2, `bench: ${zip} is there already: --force replaces it\n`]);
    await bundle('--force');
    expect(readFileSync(zip).equals(before)).toBe(true);
  });

  test('has its README however small it must be', async () => {
    await bundle('--force', '--max-mib', '1', '--quiet');
    expect(textsOf(zip).get('README.txt')).toContain('== files');
  });

  test('hides names of this machine', async () => {
    await bundle('--force');
    const texts = textsOf(zip);
    expect(texts.get('head/repro.json')).toContain('"host": "host-1"');
    for (const text of texts.values()) expect(text.includes(`"host": "${hostname()}"`)).toBe(false);
  });

  test('of a matrix that extends another one it says so', async () => {
    const whole = readFileSync(matrix);
    writeFileSync(join(cwd, 'common.yaml'), whole);
    writeFileSync(matrix, 'extends: common.yaml\n');
    const { stdout } = await bundle('--force', '--json');
    writeFileSync(matrix, whole);
    expect(OUTPUTS['repro-bundle'].parse(JSON.parse(stdout)).leftOut).toEqual([
      { name: 'what head/matrix.yaml extends', why: 'plan.json has what both said together' },
    ]);
  });

  test('a matrix that can no longer be read is left out', async () => {
    writeFileSync(matrix, 'name: other\nmodels: {}\n');
    const { stdout } = await bundle('--force', '--json');
    expect(OUTPUTS['repro-bundle'].parse(JSON.parse(stdout)).leftOut).toEqual([
      { name: 'head/matrix.yaml', why: 'the matrix file is not there, or cannot be read; plan.json has what it said' },
    ]);
    expect([...textsOf(zip).keys()]).not.toContain('head/matrix.yaml');
  });
});

describe('against a good build', () => {
  let cwd: string;

  beforeAll(async () => {
    cwd = sharedFolder();
    for (const variant of ['normal', 'level2']) {
      const folders = ['build', 'profile'].map((part) => join(FIXTURES, 'pairs', 'vit_small.fp16', variant, part));
      const { code, stderr } = await bench(['import', '--sweep', variant, ...folders], { cwd });
      if (code !== 0) throw new Error(stderr);
    }
  }, 60_000);

  test('it has both layer tables and their difference, and of imported runs the build', async () => {
    const { code, stderr } = await bench(['repro', 'vit_small', '--bundle', 'bug.zip', '--base', 'normal'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    const texts = textsOf(join(cwd, 'bug.zip'));
    const tables = ['base', 'head'].map((side) =>
      OUTPUTS.layers.parse(JSON.parse(texts.get(`${side}/layers.json`) ?? '')),
    );
    expect(tables.map(({ layers }) => layers.length)).toEqual([141, 141]);
    expect(texts.get('layers-diff.txt')).toContain('patch_embed/Conv');
    expect(OUTPUTS['layers-diff'].parse(JSON.parse(texts.get('layers-diff.json') ?? '')).rows[0]?.label).toBe(
      'patch_embed/Conv',
    );
    expect(texts.get('README.txt')).toContain('--builderOptimizationLevel=2');
    expect(texts.get('base/repro.sh')).not.toContain('--builderOptimizationLevel');
  });

  test.each([
    [['--reduce', 'patch_embed/Conv'], '--reduce is about a bundle: add --bundle FILE.zip'],
    [['--base', 'normal'], '--base is about a bundle: add --bundle FILE.zip'],
    [['--bundle', 'b.zip', '--reduce', 'x'], '--reduce needs the good build to compare with: --base latest~1'],
    [['--bundle', '-'], 'a zip file is binary: name a file, --bundle bug.zip'],
    [['--bundle', 'b.zip', '--script', 'a.sh'], 'the script is in the bundle: leave --script out'],
    [
      ['--bundle', 'b.zip', '--base', 'normal', '--reduce', 'nothing of the kind'],
      '--reduce nothing of the kind: neither build has such a layer or ONNX node; what changed most is patch_embed/Conv',
    ],
    [
      ['--bundle', 'b.zip', '--base', 'level2', '--reduce', 'patch_embed/Conv'],
      '--reduce: the layers of both sides are of the same run: name another build with --base',
    ],
    [
      ['--bundle', 'b.zip', '--base', 'normal', '--reduce', 'patch_embed/Conv'],
      'models/vit_small_fp16.onnx: no such model: name the file that was built, --model FILE',
    ],
  ])('wrong use: %j', async (args, problem) => {
    const { code, stderr } = await bench(['repro', 'vit_small', ...args], { cwd });
    expect([code, stderr]).toEqual([2, `bench: ${problem}\n`]);
  });

  test('an unknown good build is one line', async () => {
    const { code, stderr } = await bench(['repro', 'vit_small', '--bundle', 'b.zip', '--base', 'nowhere'], { cwd });
    expect([code, stderr.trimEnd().split('\n').length]).toEqual([2, 1]);
  });

  test('a Python without onnx is one line that says what to install', async () => {
    const python = join(temporaryFolder(), 'python3');
    writeFileSync(
      python,
      `#!/bin/sh\necho '{"problem": "No module named onnx: pip install onnx", "isLacking": true}'\n`,
      { mode: 0o755 },
    );
    const model = join(ROOT, 'test', 'fixtures', 'onnx', 'vit_tiny.onnx');
    const reduce = ['--reduce', 'patch_embed/Conv', '--model', model, '--python', python];
    const { code, stderr } = await bench(['repro', 'vit_small', '--bundle', 'b.zip', '--base', 'normal', ...reduce], {
      cwd,
    });
    expect([code, stderr]).toEqual([3, 'bench: No module named onnx: pip install onnx\n']);
  });
});

describe('limits of a bundle', () => {
  const MIB = 1 << 20;
  const signal = new AbortController().signal;

  test('a long log loses its middle; other long files, binary ones, links and odd names are left out', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'stdout.log'), `START${'x'.repeat(6 * MIB)}END`);
    writeFileSync(join(folder, 'times.json'), 'x'.repeat(5 * MIB));
    writeFileSync(join(folder, 'output.bin'), 'x');
    writeFileSync(join(folder, 'a b.json'), '{}');
    writeFileSync(join(folder, 'run.json'), '{}');
    symlinkSync('/etc/passwd', join(folder, 'link.log'));
    const bundle = new BundleFiles(24);
    await bundle.addRun('head/run', folder, signal);
    expect(bundle.files.map(({ name }) => name)).toEqual(['head/run/run.json', 'head/run/stdout.log']);
    const log = String(bundle.files[1]?.content);
    expect(log.length).toBeLessThan(4 * MIB + 100);
    expect([log.slice(0, 6), log.slice(-4), /\n\[2.* MiB are left out here\]\n/.exec(log)?.index]).toEqual([
      'STARTx',
      'xEND',
      MIB,
    ]);
    expect(bundle.leftOut.map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'head/run/stdout.log: 6.00 MiB, and a file takes 4.00 MiB: its middle is not there',
      'head/run/a b.json: its name is not plain',
      'head/run/output.bin: only text can be redacted',
      'head/run/times.json: 5.00 MiB, and a file takes 4.00 MiB',
    ]);
  });

  test('what no longer fits is left out, what is smaller still comes', () => {
    const bundle = new BundleFiles(1);
    for (const [name, bytes] of Object.entries({ first: MIB - 10, second: 11, third: 10 })) {
      bundle.add(name, Buffer.alloc(bytes));
    }
    expect(bundle.files.map(({ name }) => name)).toEqual(['first', 'third']);
    expect(bundle.leftOut).toEqual([
      { name: 'second', why: '11 B, and the bundle takes 1 MiB in all: --max-mib takes more' },
    ]);
  });

  test('a folder that is gone is named', async () => {
    const bundle = new BundleFiles(1);
    await bundle.addRun('head/run', join(temporaryFolder(), 'gone'), signal);
    mkdirSync(join(temporaryFolder(), 'empty'));
    expect(bundle.leftOut).toEqual([{ name: 'head/run/', why: 'the files of this run are not kept any more' }]);
  });
});
