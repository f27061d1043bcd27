import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { beforeAll, describe, expect, test } from 'vitest';

import { scrubFolder, scrubText } from '../../src/artefacts/keep.ts';
import { printable } from '../../src/text/printable.ts';
import { isSecret, isSecretName } from '../../src/text/redact.ts';
import { bench, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

// What would run something, break a line, leave a folder, or drive a terminal.
const EVIL = 'a b\'"; $(touch pwned) `touch pwned` | & > pwned \n../..\u001b[31mred\u001b]0;t\u0007 😀\u202eabc\rx';
const FILE = EVIL.replaceAll('/', '_');
const BRANCH = 'feature/ünï"q\'$(touch_pwned);`x`😀';

/** Escapes of our own would be fine on a terminal: here there is none, so nothing but line ends may be raw. */
function expectPrintable(text: string): void {
  for (const line of text.split('\n')) expect(printable(line)).toBe(line);
}

describe('names that would do harm in a shell, a path or a terminal', () => {
  const cwd = join(sharedFolder(), FILE);

  beforeAll(() => {
    mkdirSync(cwd);
    writeFileSync(join(cwd, `${FILE}.onnx`), 'model');
    const matrix = {
      name: EVIL,
      models: { [EVIL]: { shapes: { 'in$(x);😀': ['batch', 3] }, precisions: { fp16: { onnx: `${FILE}.onnx` } } } },
      axes: { precision: 'fp16', batch: [1, 8] },
      build: { opt: { batch: 8 } },
      profile: true,
    };
    writeFileSync(join(cwd, `${FILE}.yaml`), JSON.stringify(matrix));
    const git = (...args: string[]) => execFileSync('git', args, { cwd });
    git('init', '--quiet', '--initial-branch', BRANCH);
    git('-c', 'user.name=a', '-c', 'user.email=b', 'commit', '-q', '--allow-empty', '-m', EVIL);
  });

  const env = { STUB_LAYER: EVIL, COLUMNS: '200' };
  const stub = ['--trtexec', STUB];

  test('measured, compared, drawn and shown: all of it stored as it is, nothing printed raw', async () => {
    const planned = await bench(['plan', `${FILE}.yaml`, ...stub], { cwd, env });
    expect([planned.code, planned.stderr]).toEqual([0, '']);
    expectPrintable(planned.stdout);
    const run = await bench(['run', `${FILE}.yaml`, ...stub], { cwd, env });
    expect(run.code).toBe(0);
    expectPrintable(run.stdout + run.stderr);
    await bench(['run', `${FILE}.yaml`, ...stub], { cwd, env });

    const db = join(cwd, 'bench.sqlite');
    expect(queryStore(db, 'SELECT DISTINCT model FROM cells')).toEqual([{ model: EVIL }]);
    expect(queryStore(db, 'SELECT DISTINCT matrix, git_branch FROM sweeps')).toEqual([
      { matrix: EVIL, git_branch: BRANCH },
    ]);
    const [profile] = queryStore<{ id: string }>(db, `SELECT run_id AS id FROM runs WHERE role = 'profile'`);
    const shown = await bench(['show', profile?.id ?? '', '--json'], { cwd, env });
    expect(JSON.parse(shown.stdout).layers).toMatchObject([{ name: EVIL }]);
    const [cell] = queryStore<{ key: string }>(db, 'SELECT cell_key AS key FROM cells');

    const plain =
      'ls sweeps|ls cells|compare latest~1 latest|trend|trend --together|check|noise|db rejudge|show latest';
    for (const args of [
      ...`${plain}|parse artefacts|ls baselines|import artefacts`.split('|').map((words) => words.split(' ')),
      ['ls', 'cells', '--filter', `model="${EVIL.replaceAll('"', '*').replaceAll('\n', '*')}"`],
      ['trend', EVIL],
      ['show', cell?.key ?? ''],
      ['repro', profile?.id ?? ''],
      ['baseline', 'set', 'v1', '--reason', EVIL],
    ]) {
      const { code, stdout, stderr } = await bench(args, { cwd, env });
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      expectPrintable(stdout);
    }
    expect(JSON.stringify(readdirSync(cwd, { recursive: true }))).not.toContain('pwned"');
  }, 60_000);

  const WITH_NAME =
    'run|show|repro|export|parse|import|baseline set|baseline rm|check --as-of|detect|schema|run --resume|ls sweeps --db';

  test.each([
    ...WITH_NAME.split('|').map((words) => [...words.split(' '), EVIL]),
    ['plan', `${FILE}.yaml`, '--filter', EVIL],
    ['plan', `${FILE}.yaml`, '--trtexec', EVIL],
    ['run', `${FILE}.yaml`, '--replay', EVIL],
    ['compare', EVIL, EVIL],
    ['trend', `${EVIL} of no cell`],
    ['import', '--commit', EVIL, 'artefacts'],
    ['ack', EVIL, '--reason', EVIL],
    ['ls', 'sweeps', `--${EVIL}`],
    [EVIL],
  ])('wrong in %#: one printable line', async (...args) => {
    const { code, stdout, stderr } = await bench(args, { cwd, env });
    expect([code, stdout]).toEqual([expect.toSatisfy((c) => c === 2 || c === 3), '']);
    expectPrintable(stderr);
    expect([stderr.trimEnd().split('\n').length, stderr]).toEqual([1, expect.stringMatching(/^bench: /)]);
    expect(JSON.stringify(readdirSync(cwd, { recursive: true }))).not.toContain('pwned"');
  });
});

describe('names of secrets', () => {
  const SECRETS =
    'DATABASE_URL MY_PAT SSH_KEY SLACK_WEBHOOK GITHUB_AUTH HF_TOKEN MY_API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID NGC_APIKEY PGPASSWORD MYSQL_PWD DB_PASS GPG_PASSPHRASE SENTRY_DSN REDIS_URI githubToken GITHUBTOKEN WANDB_API_KEY GOOGLE_APPLICATION_CREDENTIALS JWT SLACK_WEBHOOK_URL SIGNING_KEY_2 SSH_PRIVATE_KEY AZURE_STORAGE_CONNECTION_DB_CONN';
  const OTHERS =
    'PATH LD_LIBRARY_PATH PATTERN KEYBOARD MONKEY PWD OLDPWD KEY TOKENIZERS_PARALLELISM MAX_NUM_TOKENS AUTHOR GIT_AUTHOR_NAME PASSES COMPASS PATCH CUDA_VISIBLE_DEVICES HOMEPAGE_URL XAUTHORITY KEYMAP BYPASS_CACHE CUDA_CACHE_PATH OMP_NUM_THREADS NVIDIA_TF32_OVERRIDE TRT_INTERNAL_OPTIONS';

  test.each([
    ...SECRETS.split(' ').map((name) => [name, true] as const),
    ...OTHERS.split(' ').map((name) => [name, false] as const),
  ])('%s is one: %j', (name, isOne) => expect(isSecretName(name)).toBe(isOne));

  test('an address with a password in it is one by its value', () => {
    expect(isSecret('HTTP_PROXY', 'http://me:hunter2secret@proxy:3128')).toBe(true);
    expect(isSecret('HTTP_PROXY', 'http://proxy:3128/a@b')).toBe(false);
  });
});

describe('what a program printed', () => {
  const secret = 's3cr3t-0123456789';

  test('a secret goes wherever a large file is cut when it is read', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'stdout.log');
    const longer = `${secret}-and-more`;
    for (const at of [0, 262_144 - 9, 600_000]) {
      const text = Buffer.alloc(600_000 + longer.length, 'é\u0000').toString('latin1');
      writeFileSync(path, Buffer.from(text.slice(0, at) + longer + text.slice(at) + secret, 'latin1'));
      await scrubFolder(folder, { DATABASE_URL: secret, MY_PAT: longer });
      expect(readFileSync(path).toString('latin1')).toBe(`${text.slice(0, at)}***${text.slice(at)}***`);
    }
    expect(readdirSync(folder)).toEqual(['stdout.log']);
  });

  test('a file without any is not written again; words of a log are none', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'stdout.log');
    writeFileSync(path, 'CUDA Graph: Enabled, TensorRT, disabled');
    const { ino } = statSync(path);
    await scrubFolder(folder, { GITHUB_AUTH: 'Enabled', MY_PAT: 'TensorRT', SSH_KEY: secret });
    expect([statSync(path).ino, readFileSync(path, 'utf8')]).toEqual([ino, 'CUDA Graph: Enabled, TensorRT, disabled']);
    expect(scrubText(`a ${secret} b`, { SSH_KEY: secret })).toBe('a *** b');
    const line = 'via http://me:***@proxy';
    expect(scrubText('via http://me:hunter2secret@proxy', { P: 'http://me:hunter2secret@proxy' })).toBe(line);
  });

  test('of a trtexec that prints its environment nothing secret is stored anywhere', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'trtexec'), `#!/bin/sh\nenv\nenv >&2\nexec ${STUB} "$@"\n`);
    chmodSync(join(cwd, 'trtexec'), 0o755);
    const matrix = stubMatrix(cwd);
    const names = ['DATABASE_URL', 'MY_PAT', 'SSH_KEY', 'SLACK_WEBHOOK', 'GITHUB_AUTH', 'HF_TOKEN'];
    const env = Object.fromEntries(names.map((name) => [name, `${name}-${secret}`]));
    const { code, stdout, stderr } = await bench(['run', matrix, '--trtexec', './trtexec'], { cwd, env });
    expect([code, stdout.includes(secret), stderr.includes(secret)]).toEqual([0, false, false]);
    const files = readdirSync(cwd, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const holding = files.filter(({ name, parentPath }) => {
      const bytes = readFileSync(join(parentPath, name));
      return (name.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).includes(secret);
    });
    expect(holding).toEqual([]);
    const db = join(cwd, 'bench.sqlite');
    const outcomes = ['built', 'measured'].map((outcome) => ({ outcome }));
    expect(queryStore(db, 'SELECT DISTINCT outcome FROM runs ORDER BY outcome')).toEqual(outcomes);
    expect((await bench(['db', 'verify'], { cwd })).code).toBe(0);
  });
});

describe('values of env: in a matrix', () => {
  test.each([
    ...['MY_API_KEY: abc', 'PROXY: "http://a:bcdef@h"'].map((env): [string, RegExp] => [
      `models: {m: {harness: {kind: command, run: [x], env: {${env}}, metrics: {e2e_ms: {better: lower, unit: ms}}}}}\n`,
      /^bench: m\.yaml:1:\d+: (?:MY_API_KEY|PROXY): this looks like a secret, and values in a matrix are stored/,
    ]),
    [
      'models: {m: {shapes: {x: [1, 3]}, precisions: {fp16: {onnx: m.onnx}}}}\naxes: {precision: fp16, env: {DATABASE_URL: [a, b]}}\n',
      /^bench: m\.yaml:2:\d+: DATABASE_URL: this looks like a secret/,
    ],
  ])('%s', async (text, expected) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'm.yaml'), text);
    for (const command of ['plan', 'run']) {
      const { code, stderr } = await bench([command, 'm.yaml'], { cwd });
      expect([code, stderr]).toEqual([2, expect.stringMatching(expected)]);
    }
    expect(readdirSync(cwd)).toEqual(['m.yaml']);
  });

  test('and of a run that is imported are not stored', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'run'));
    const metrics = { e2e_ms: { better: 'lower', unit: 'ms' } };
    const settings = { kind: 'command', run: ['x'], env: { MY_PAT: 'abcdef' }, metrics };
    const env = { MY_PAT: 'abcdef', CUDA_VISIBLE_DEVICES: '1' };
    const manifest = { schemaVersion: 1, cell: { model: 'm' }, harness: { driver: 'command', settings }, env };
    writeFileSync(join(cwd, 'run', 'run.json'), JSON.stringify(manifest));
    writeFileSync(join(cwd, 'run', 'stdout.log'), '{"e2e_ms": 3.5}\n');
    expect(await bench(['import', 'run'], { cwd })).toMatchObject({ code: 0 });
    const stored = readdirSync(join(cwd, 'artefacts'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFileSync(join(cwd, 'artefacts', name), 'utf8'));
    expect(stored.filter((text) => text.includes('abcdef'))).toEqual([]);
    expect(stored.some((text) => text.includes('CUDA_VISIBLE_DEVICES'))).toBe(true);
    expect(readFileSync(join(cwd, 'bench.sqlite')).includes('abcdef')).toBe(false);
  });
});
