import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { bench, refusal, ROOT, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';

const MATRICES = join(ROOT, 'matrices');

let cwd: string;

beforeEach(() => {
  cwd = temporaryFolder();
  // Keeps what it got, and what it was started with.
  writeFileSync(
    join(cwd, 'tell'),
    '#!/bin/sh\ncat > got.json\nprintf "%s|" "$@" >> started\necho sent\nprintf "$TELL_SAYS" >&2\nexit "${TELL_CODE:-0}"\n',
    { mode: 0o755 },
  );
});

const GATE = [
  'gate:',
  "  limits: ['gpuCompute <= 0.45 ms', 'sqnr >= 25']",
  '  owners: [{filter: model=*, owner: team-vision}]',
];

/** A recorded sweep of two cells: 0.35 and 0.41 ms, or with `opt32` 0.44 and 0.48 ms. */
async function sweep(which: 'pair' | 'opt32', ...lines: readonly string[]): Promise<void> {
  const base = join(MATRICES, which === 'pair' ? 'quickstart-pair.yaml' : 'quickstart-pair-opt32.yaml');
  const kept = GATE.filter((line) => !lines.some((other) => other.startsWith(line.slice(0, 9))));
  const gate = [...kept, ...lines].join('\n');
  writeFileSync(join(cwd, 'm.yaml'), `extends: ${base}\nname: m\n${gate}\n`);
  const { code, stderr } = await bench(['run', 'm.yaml'], { cwd });
  expect([code, stderr.includes('bench:')]).toEqual([0, false]);
}

const check = (...args: readonly string[]) => bench(['check', ...args], { cwd });

async function checked(...args: readonly string[]) {
  const { code, stdout } = await check(...args, '--json');
  return { code, ...OUTPUTS.check.parse(JSON.parse(stdout)) };
}

function started(): string {
  const path = join(cwd, 'started');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

test('limits: hold in the first sweep, are told with limit, value and owner, and end with 1 until they hold', async () => {
  await sweep('opt32');
  const first = await checked();
  expect(first).toMatchObject({ code: 1, series: [{ judgedBy: 'first', verdict: 'limit' }] });
  expect(first.series[0]?.notes).toEqual(['limit sqnr >= 25: no cell has a value for it']);
  const [finding, ...others] = first.findings;
  expect(others).toEqual([]);
  const metrics = [{ metric: 'gpuComputeMs', before: 0.45, after: expect.closeTo(0.4765, 3) }];
  const labels = ['vit_small fp16 8x3x224x224 graph transfers'];
  expect(finding).toMatchObject({ kind: 'limit', state: 'new', owner: 'team-vision', labels, metrics });
  const { stdout } = await check();
  expect(stdout).toContain('first sweep: nothing to compare with; 1 limit broken');
  expect(stdout).toMatch(/▲ [0-9a-f]{8} vit_small fp16 8x3x224x224 graph transfers beyond a limit by 5\.9 %, since/);
  expect(stdout).toMatch(/ new, a broken limit in GPU compute time; owner team-vision/);
  expect(stdout).toMatch(/metric +limit +value +beyond\n.*0\.4500 ms +0\.476\d ms +\+5\.9 %/);
  expect((await check('--fail-on', 'regression,failed')).code).toBe(0);
  await sweep('opt32');
  expect(await checked()).toMatchObject({ code: 1, findings: [{ id: finding?.id, state: 'open' }] });
  await sweep('pair');
  const held = await checked();
  expect([held.code, held.findings.find(({ id }) => id === finding?.id)?.state]).toEqual([0, 'recovered']);
});

test('a broken limit names the cells beyond it, however small their change, and leaves the others out', async () => {
  const gate = ['  minChange: 50%', "  limits: ['gpuCompute <= 0.4 ms']"];
  await sweep('opt32', ...gate);
  expect((await checked()).findings.map(({ labels }) => labels.length)).toEqual([2]);
  await sweep('pair', ...gate);
  const { code, findings } = await checked();
  const [{ details: [own] = [], labels, state } = {}, ...others] = findings;
  expect([code, state, labels?.length, others, own?.before]).toEqual([1, 'open', 1, [], 0.4]);
  expect(own?.after).toBeCloseTo(0.4117, 4);
});

describe('notify', () => {
  test('the program of the matrix gets the JSON once for the same findings', async () => {
    await sweep('opt32', '  notify: [./tell, a b]');
    const { stdout } = await check('--json');
    expect([started(), readFileSync(join(cwd, 'got.json'), 'utf8')]).toEqual(['a b|', stdout]);
    await check();
    expect(started()).toBe('a b|');
    await sweep('opt32', '  notify: [./tell, a b]');
    await check();
    expect(started()).toBe('a b|');
  });

  test('its failure is said with the last line that it printed, changes no exit code, and the next check tries again', async () => {
    await sweep('opt32');
    const env = { TELL_CODE: '7', TELL_SAYS: String.raw`first\nno \033[31mroute\n` };
    const failing = await bench(['check', '--notify', './tell'], { cwd, env });
    const text = String.raw`exit code 7: no \u001b[31mroute; the findings are stored, and the next check tries again`;
    const stderr = `note: notify: ./tell: ${text}\n`;
    expect(failing).toMatchObject({ code: 1, stderr });
    rmSync(join(cwd, 'got.json'));
    const again = await check('--notify', '["./tell", "again"]');
    expect([again.code, again.stderr]).toEqual([1, '']);
    expect([started(), existsSync(join(cwd, 'got.json'))]).toEqual(['||again|'.slice(1), true]);
  });

  test('--untrusted starts nothing by itself, and refuses a file that names a program', async () => {
    await sweep('opt32', '  notify: [./tell, x]');
    expect((await check('--untrusted')).code).toBe(1);
    const stderr = 'bench: m.yaml:6:3: gate.notify: is started by bench check: refused by --untrusted\n';
    expect([await check('m.yaml', '--untrusted'), started()]).toMatchObject([{ code: 2, stderr }, '']);
  });

  test('a check that stores nothing starts nothing', async () => {
    await sweep('opt32', '  notify: [./tell, x]');
    await check('--as-of', 'latest');
    await check('--min-change', '1%');
    await check('--filter', 'batch=8', '--metric', 'p99Ms');
    expect(started()).toBe('');
    await check('m.yaml');
    expect(started()).toBe('x|');
  });
});

test('a matrix file names whose sweeps are checked', async () => {
  await sweep('opt32');
  const other = join(MATRICES, 'quickstart-pair.yaml');
  await bench(['run', other], { cwd });
  expect((await checked('m.yaml')).series.map(({ matrix }) => matrix)).toEqual(['m']);
  const expected = ['m', 'quickstart-pair'];
  expect((await checked('m.yaml', other)).series.map(({ matrix }) => matrix).toSorted()).toEqual(expected);
  const stderr = 'bench: --matrix and a matrix file cannot be used together: the file has the name\n';
  expect(await check('m.yaml', '--matrix', 'm')).toMatchObject({ code: 2, stderr });
  const never = await check(join(MATRICES, 'quickstart.yaml'));
  expect(never).toEqual(refusal('bench: matrix quickstart: no sweep of it is stored; see `bench ls sweeps`\n'));
});
