import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { strFromU8, unzipSync } from 'fflate';
import { beforeAll, describe, expect, test } from 'vitest';

import { BundleFiles } from '../../../src/features/repro/bundle.ts';
import { RelativePaths } from '../../../src/text/relative-paths.ts';
import { bench, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { firstId } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const textsOf = (zip: string): Map<string, string> =>
  new Map(Object.entries(unzipSync(readFileSync(zip))).map(([name, bytes]) => [name, strFromU8(bytes)]));

describe('the bundle of a measured run', () => {
  let cwd: string;
  let zip: string;

  beforeAll(async () => {
    cwd = sharedFolder();
    zip = join(cwd, 'bug.zip');
    const matrix = stubMatrix(cwd, ['repeats: 1', 'profile: true', 'name: nightly']);
    const run = await bench(['run', matrix, '--trtexec', STUB, '--no-telemetry'], { cwd });
    if (run.code !== 0) throw new Error(run.stderr);
  }, 60_000);

  const bundle = (...args: readonly string[]) => {
    const timed = firstId(join(cwd, 'bench.sqlite'), "SELECT run_id AS id FROM runs WHERE role = 'timed'");
    return bench(['repro', timed, '--bundle', zip, ...args], { cwd });
  };

  test('has commands, script, layers and logs, and says what is in it', async () => {
    const { code, stdout } = await bundle('--json', '--force');
    expect(code).toBe(0);
    const output = OUTPUTS['repro-bundle'].parse(JSON.parse(stdout));
    const texts = textsOf(zip);
    const names = [...texts.keys()];
    expect(names).toEqual(output.files.map(({ name }) => name));
    expect(names).toEqual(names.toSorted());
    const known = 'layers.json repro.json repro.sh run/run.json run/stdout.log build/stdout.log profile/profile.json';
    expect(names).toEqual(expect.arrayContaining(known.split(' ').map((name) => `head/${name}`)));
    expect(OUTPUTS.repro.parse(JSON.parse(texts.get('head/repro.json') ?? '')).runId).toBe(output.runId);
    expect(texts.get('head/repro.sh')).toMatch(/^#!\/bin\/sh\n/);
    expect(JSON.parse(texts.get('bundle.json') ?? '')).toMatchObject({ runId: output.runId, leftOut: output.leftOut });
    expect(output).toMatchObject({ baseRunId: null, reduced: null, bytes: readFileSync(zip).length });
  });

  test('has the same bytes when written again, without names of this machine, and replaces nothing by itself', async () => {
    await bundle('--force', '--max-mib', '1');
    const before = readFileSync(zip);
    expect(await bundle()).toEqual(refusal(`bench: ${zip} exists: --force replaces it\n`));
    await bundle('--force');
    expect(readFileSync(zip).equals(before)).toBe(true);
    const texts = textsOf(zip);
    expect(texts.get('head/repro.json')).toContain('"host": "host-1"');
    for (const text of texts.values()) expect(text.includes(`"host": "${hostname()}"`)).toBe(false);
  });
});

describe('a bundle has what an allow-list knows, and says what it left out', () => {
  const folder = join(sharedFolder(), 'acme corp', 'project-x');
  let texts: Map<string, string>;
  let leftOut: readonly { name: string; why: string }[];

  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    const matrix = stubMatrix(folder, ['repeats: 1', 'profile: false', 'name: nightly # of acme corp']);
    const wrapper = join(folder, 'trtexec');
    const script = `#!/bin/sh\necho "MYCRED=$MYCRED"\necho "see $MYCRED" >&2\nexec '${process.execPath}' '${STUB}' "$@"\n`;
    writeFileSync(wrapper, script, { mode: 0o755 });
    const env = { MYCRED: 'hunter2 and more', LD_LIBRARY_PATH: '/opt/project-x/lib:/usr/project-x/lib' };
    const run = await bench(['run', matrix, '--trtexec', wrapper, '--no-telemetry'], { cwd: folder, env });
    if (run.code !== 0) throw new Error(run.stderr);
    const args = ['repro', 'batch=8', '--bundle', 'bug.zip'];
    ({ leftOut } = await jsonOf(OUTPUTS['repro-bundle'], args, { cwd: folder }));
    texts = textsOf(join(folder, 'bug.zip'));
  }, 60_000);

  test('no value of a variable that is not known, whoever printed it', () => {
    for (const text of texts.values()) expect(text).not.toMatch(/hunter2|MYCRED/);
    expect(texts.get('head/run/stdout.log')).toContain('&&&& PASSED TensorRT.trtexec');
    const why = "1 line that trtexec's logger did not write, or verbose";
    for (const log of ['stdout', 'stderr']) expect(leftOut).toContainEqual({ name: `head/run/${log}.log`, why });
  });

  test('no absolute path, in the home folder or not: one folder has one name in all files', () => {
    for (const text of texts.values()) expect(text).not.toMatch(/acme|project-x/);
    const { model, env, trtexec } = JSON.parse(texts.get('head/repro.json') ?? '');
    expect([model.path, trtexec.path].join()).toMatch(/^folder-\d\/model\.onnx,folder-\d\/trtexec$/);
    expect(model.path.split('/')[0]).toBe(trtexec.path.split('/')[0]);
    expect(env.LD_LIBRARY_PATH).toMatch(/^folder-\d:folder-\d$/);
    expect(texts.get('head/run/stdout.log')).toMatch(/--loadEngine=folder-\d\//);
    const name = expect.stringMatching(/^absolute paths in \d folders$/);
    expect(leftOut.at(-1)).toEqual({ name, why: 'replaced by folder-1 and so on' });
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

  test('it has both layer tables, and of imported runs the build', async () => {
    const args = ['repro', 'vit_small', '--bundle', 'bug.zip', '--base', 'normal'];
    expect(await bench(args, { cwd })).toMatchObject({ code: 0, stderr: '' });
    const texts = textsOf(join(cwd, 'bug.zip'));
    const json = (name: string): unknown => JSON.parse(texts.get(name) ?? '');
    const tables = ['base', 'head'].map((side) => OUTPUTS.layers.parse(json(`${side}/layers.json`)));
    expect(tables.map(({ layers }) => layers.length)).toEqual([141, 141]);
    expect(texts.get('head/repro.sh')).toContain('--builderOptimizationLevel=2');
    expect(texts.get('base/repro.sh')).not.toContain('--builderOptimizationLevel');
  });

  test.each([
    [['--base', 'normal'], '--base, --reduce and --model need --bundle FILE.zip'],
    [
      ['--bundle', 'b.zip', '--reduce', 'x'],
      '--reduce compares two builds of one cell: name another sweep, commit or run with --base',
    ],
    [['--bundle', 'b.zip', '--script', 'a.sh'], 'the script is in the bundle: leave --script out'],
    [
      ['--bundle', 'b.zip', '--base', 'normal', '--reduce', 'nothing of the kind'],
      '--reduce nothing of the kind: neither build has this layer or ONNX node',
    ],
    [
      ['--bundle', 'b.zip', '--base', 'normal', '--reduce', 'patch_embed/Conv'],
      'models/vit_small_fp16.onnx: model not found: name the ONNX file that was built, --model FILE',
    ],
  ])('wrong use: %j', async (args, problem) => {
    expect(await bench(['repro', 'vit_small', ...args], { cwd })).toEqual(refusal(`bench: ${problem}\n`));
  });
});

describe('limits of a bundle', () => {
  const MIB = 1 << 20;

  test('verbose lines, what no longer fits and what it does not know are left out, a link is not followed', async () => {
    const folder = temporaryFolder();
    const line = `[11/21/2026-07:33:53] [I] ${'x'.repeat(1000)}\n`;
    writeFileSync(join(folder, 'stdout.log'), `SET=1\n${line}${line.replace('[I]', '[V]')}`);
    writeFileSync(join(folder, 'times.json'), 'x'.repeat(5 * MIB));
    writeFileSync(join(folder, 'telemetry.csv'), 'x');
    writeFileSync(join(folder, 'a b.json'), '{}');
    const facts = { schemaVersion: 1, exitCode: 0, notes: ['of acme'], argv: ['trtexec', '--onnx=/acme/n.onnx'] };
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ ...facts, environment: { host: 'node7' } }));
    symlinkSync('/etc/passwd', join(folder, 'stderr.log'));
    const bundle = new BundleFiles(4, new RelativePaths(null));
    const gone = join(temporaryFolder(), 'gone');
    const { signal } = new AbortController();
    await bundle.addRun('base/run', gone, signal);
    await bundle.addRun('head/run', folder, signal);
    const contents = new Map(bundle.files.map(({ name, content }) => [name, String(content)]));
    expect([...contents.keys()]).toEqual(['head/run/run.json', 'head/run/stdout.log', 'head/run/telemetry.csv']);
    const kept = { exitCode: 0, argv: ['trtexec', '--onnx=folder-1/n.onnx'] };
    expect(JSON.parse(contents.get('head/run/run.json') ?? '')).toMatchObject(kept);
    expect(contents.get('head/run/run.json')).not.toMatch(/acme|node7/);
    expect(contents.get('head/run/stdout.log')).toBe(line);
    expect(bundle.leftOut.map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'base/run/: the files of this run are no longer kept',
      'head/run/a b.json: a bundle does not contain this file',
      "head/run/stdout.log: 2 lines that trtexec's logger did not write, or verbose",
      'head/run/times.json: 5.00 MiB, and the bundle takes 4 MiB in all: --max-mib takes more',
    ]);
  });
});
