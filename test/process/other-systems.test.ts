import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { describe, expect, test } from 'vitest';

import { otherSystem, type PORTABLE_COMMANDS } from '../../src/process/system.ts';
import { nameSources } from '../../src/features/import/import-group.ts';
import { bench, benchProcess, type Finished, ROOT, temporaryFolder } from '../support/bench.ts';
import { storeIn } from '../support/made-stores.ts';

const QUICKSTART = join(ROOT, 'matrices', 'quickstart.yaml');
const SUPPORT = pathToFileURL(join(ROOT, 'test', 'support')).href;

/** What a user types there; `bench.sqlite` and `artefacts` came from a Linux machine. */
const TYPED: Readonly<Record<(typeof PORTABLE_COMMANDS)[number], readonly string[]>> = {
  plan: ['plan', QUICKSTART],
  import: ['import', 'artefacts', '--db', 'new.sqlite', '--quiet'],
  parse: ['parse', 'artefacts'],
  compare: ['compare', '--db', 'bench.sqlite'],
  check: ['check', '--db', 'bench.sqlite'],
  trend: ['trend', '--db', 'bench.sqlite'],
  report: ['report', '--md', '--db', 'bench.sqlite'],
};

test('on others portable commands say what they say on Linux, and ask for nothing of it alone', async () => {
  const onLinux: string[] = [];
  for (const args of Object.values(TYPED)) {
    const cwd = await folderFor(args);
    const answer = await bench(args, { cwd });
    expect([args, answer.code]).toEqual([args, 0]);
    onLinux.push(JSON.stringify([args, { ...answer, attempts: '' }]).replaceAll(cwd, '.'));
  }
  for (const platform of ['darwin', 'win32']) {
    const typed: unknown[] = [];
    for (const args of Object.values(TYPED)) typed.push({ args, cwd: await folderFor(args) });
    const env = environmentOn(platform, 'several-benches');
    const { stdout } = await benchProcess([], { env, input: JSON.stringify(typed) });
    expect([platform, JSON.parse(stdout)]).toEqual([platform, onLinux.map((text): unknown => JSON.parse(text))]);
  }
});

describe.each(['darwin', 'win32'])('on %s', (platform) => {
  test('bench run says in one line what it needs, and stores no run', async () => {
    const name = platform === 'win32' ? 'Windows' : 'macOS';
    const { code, stderr } = await type(['run', QUICKSTART, '--db', 'own.sqlite'], platform);
    expect(code).toBe(3);
    const line = `bench: ${otherSystem(platform === 'win32' ? 'win32' : 'darwin')?.message ?? ''}`;
    expect(stderr.trim().split('\n').at(-1)).toBe(line);
    expect(stderr).toContain(`this is ${name}: measure there`);
    // Not where trtexec was looked for.
    const real = await type(['run', join(ROOT, 'matrices', 'nightly.yaml'), '--db', 'own.sqlite'], platform);
    expect([real.code, real.stderr]).toEqual([3, expect.stringMatching(/^bench: measuring needs Linux .*\n$/)]);
  });

  test('bench doctor advises nothing that bench run refuses there', async () => {
    const { code, stdout } = await type(['doctor', '--db', 'bench.sqlite'], platform);
    expect([code, stdout.includes('measure there'), stdout.includes('--replay')]).toEqual([3, false, false]);
  });
});

test('bench plan without trtexec says how to plan without it', async () => {
  const cwd = temporaryFolder();
  const nightly = join(ROOT, 'matrices', 'nightly.yaml');
  const env = { PATH: cwd };
  const stderr = 'bench: no trtexec was found here: name it with --trtexec PATH, or plan with --tensorrt 10.6\n';
  expect(await bench(['plan', nightly], { cwd, env })).toMatchObject({ code: 3, stderr });
  expect((await bench(['plan', nightly, '--tensorrt', '10.6'], { cwd, env })).code).toBe(0);
});

test('sweeps have the same names whatever separates folders', () => {
  const source = {
    kind: 'layers',
    format: 'trtexec',
    path: join(ROOT, 'logs', 'nights', '1', 'profile.json'),
  } as const;
  expect(nameSources(join(ROOT, 'logs'), [source]).map(({ sweepName }) => sweepName)[0]).toMatch(/logs\/nights\/1$/);
});

/** A copy of the folder: checks write into the store. A few runs are enough for what reads artefacts. */
async function folderFor(args: readonly string[]): Promise<string> {
  const cwd = temporaryFolder();
  await storeIn(cwd, ['import', 'parse'].includes(args[0] ?? '') ? 'pair' : 'nights');
  return cwd;
}

function environmentOn(platform: string, ...more: readonly string[]) {
  const attempts = join(temporaryFolder(), 'attempts');
  writeFileSync(attempts, '');
  const preloaded = ['other-platform', ...more].map((name) => `--import=${SUPPORT}/${name}.mjs`);
  return { NODE_OPTIONS: preloaded.join(' '), BENCH_TEST_PLATFORM: platform, BENCH_TEST_ATTEMPTS: attempts };
}

const type = async (args: readonly string[], platform: string): Promise<Finished> =>
  benchProcess(args, { cwd: await folderFor(args), env: environmentOn(platform) });
