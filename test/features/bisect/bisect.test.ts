import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { printable } from '../../../src/text/printable.ts';
import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { type JudgedFactors, searchFactors } from '../../../src/features/bisect/factors.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, finished, sharedFolder, startBench, temporaryFolder } from '../../support/bench.ts';
import {
  BISECT_TRTEXEC,
  expectNoWorktrees,
  history,
  makeHistory,
  slowFrom,
  writeInto,
} from '../../support/bisect-repository.ts';
import { isGone, writtenPids } from '../../support/processes.ts';
import { Repository } from '../../support/repository.ts';
import { queryStore } from '../../support/store-dump.ts';

const CELL = ['--matrix', 'm.yaml', '--cell', 'batch=8'];
const STUB = ['--trtexec', BISECT_TRTEXEC];
const BUILD = ['--', './build.sh'];

/** A trtexec of the commit that fails at `--help`, or at each build, if the source says so. */
const wrapperOf = (trtexec: string) => `#!/bin/sh
at=$(dirname "$0")
grep -q mute "$at/source" && exit 1
case "$*" in *--onnx*) grep -q failing "$at/source" && echo '[E] Error[4]: builder broke' >&2 && exit 1 ;; esac
exec ${trtexec} "$@"
`;

type Variables = Readonly<Record<string, string>>;

async function bisect({ folder: cwd }: Pick<Repository, 'folder'>, args: readonly string[], env: Variables = {}) {
  const { code, stdout, stderr } = await bench(['bisect', '--json', ...args], { cwd, env });
  if (stdout === '') throw new Error(stderr);
  return { code, json: OUTPUTS.bisect.parse(JSON.parse(stdout)), stderr };
}

describe('bench bisect GOOD BAD -- CMD', () => {
  test('finds the commit, with the evidence; the checkout stays as it was', async () => {
    const { repository, commits } = history(slowFrom(3, 6));
    const head = repository.git('status', '--porcelain=v2', '--branch');
    const { code, json } = await bisect(repository, [commits[0] ?? '', 'main', ...CELL, ...STUB, ...BUILD]);
    const evidence = { changePercent: expect.closeTo(5, 3) };
    const causes = [{ name: commits[3], subject: 'change 3', evidence }];
    expect([code, json]).toMatchObject([0, { status: 'found', causes, change: evidence }]);
    expect(json.steps.length).toBeLessThanOrEqual(3);
    // Four runs of each of two sides.
    expect(json.runs).toBe(8 + 8 * json.steps.length);
    expectNoWorktrees(repository, 'bisect');
    expect(repository.git('status', '--porcelain=v2', '--branch').replace(/\n\? bench\.sqlite.*/s, '')).toBe(head);
    const db = join(repository.folder, 'bench.sqlite');
    const sweeps = queryStore(db, 'SELECT sweep_id AS id, git_commit, state FROM sweeps');
    expect(sweeps).toHaveLength(2 + 2 * json.steps.length);
    for (const { candidate, sweepId } of json.steps) {
      expect(sweeps).toContainEqual({ id: sweepId, git_commit: candidate[0], state: 'finished' });
    }
    const names = [commits[0] ?? '', 'main', '--fail-on', 'failed'];
    expect((await bench(['compare', ...names], { cwd: repository.folder })).stdout).toMatch(/^slower +small/m);
  }, 60_000);

  test('without --matrix it takes the one with which the bad commit was measured', async () => {
    // Three times as slow: half of the change is more than 100 %.
    const { repository, commits } = history(slowFrom(1, 3, 3.2));
    const cwd = repository.folder;
    const args = ['bisect', commits[0] ?? '', 'HEAD', '--cell', 'batch=8', ...STUB, ...BUILD];
    expect(await bench(args, { cwd })).toMatchObject({ code: 2, stderr: 'bench: name the matrix: --matrix FILE\n' });
    execFileSync('sh', ['build.sh'], { cwd });
    expect(await bench(['run', 'm.yaml', ...STUB], { cwd })).toMatchObject({ code: 0 });
    const { code, stderr, stdout } = await bench(['bisect', '--json', ...args.slice(1)], { cwd });
    expect([code, stderr.split('\n')[0]]).toEqual([0, 'note: the matrix is m.yaml, as HEAD was measured']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'found', causes: [{ name: commits[1] }] });
  }, 60_000);

  test('broken commits are skipped, with the reason; beside the culprit a range is left', async () => {
    const { repository, commits } = history(['change 0\n', 'failing\n', 'broken\n', 'mute\n', ...slowFrom(0, 2)]);
    const wrapper = join(temporaryFolder(), 'trtexec');
    writeInto(dirname(wrapper), 'trtexec', wrapperOf(BISECT_TRTEXEC));
    const build = ['--trtexec', './trtexec', '--', 'sh', '-c', './build.sh && install "$0" trtexec', wrapper];
    const { code, json } = await bisect(repository, [commits[0] ?? '', 'HEAD', ...CELL, ...build]);
    expect([code, json.status, json.causes.map(({ name }) => name)]).toEqual([4, 'range', commits.slice(1, 5)]);
    const skipped = json.steps.filter(({ verdict }) => verdict === 'broken');
    const reasons = skipped.map(({ candidate: [commit = ''], reason }) => [commits.indexOf(commit), reason]);
    expect(reasons.toSorted()).toEqual([
      [1, 'unknown: Error[4]: builder broke'],
      [2, expect.stringMatching(/^.*sh: exit code 3; its output is in /)],
      [3, expect.stringMatching(/trtexec --help shows no TensorRT version of 8\.0 or newer: is it trtexec\?/)],
    ]);
    expectNoWorktrees(repository, 'bisect');
  }, 60_000);

  test('nothing to find: exit code 5 and a line; the same again measures nothing, --restart does', async () => {
    const { repository, commits } = history(slowFrom(9, 2));
    const journal = join(repository.folder, 'journal');
    const starts = (): number => readFileSync(journal, 'utf8').split('\n').length;
    const run = (...more: readonly string[]) => {
      const args = ['bisect', ...more, commits[0] ?? '', 'main', ...CELL, ...STUB, ...BUILD];
      return bench(args, { cwd: repository.folder, env: { STUB_JOURNAL: journal } });
    };
    const { code, stdout } = await run();
    const [bad, good] = [commits[1], commits[0]].map((commit) => commit?.slice(0, 8));
    const line = `main (${bad}) is not slower than ${good}: there is nothing to find`;
    expect([code, stdout.split('\n')[0]]).toEqual([5, line]);
    const first = starts();
    expect([(await run()).stdout, starts()]).toEqual([stdout, first]);
    await run('--restart');
    expect(starts()).toBeGreaterThan(first);
  });

  test('a culprit on a merged line', async () => {
    const { repository, commits } = history(slowFrom(9, 1));
    const change = (name: string, text: string): string => {
      writeInto(repository.folder, name, text);
      repository.git('add', '.');
      repository.git('commit', '--quiet', '--message', text);
      return repository.git('rev-parse', 'HEAD');
    };
    repository.git('checkout', '--quiet', '--force', '-b', 'side');
    change('side', 'side-1');
    const culprit = change('source', 'side-2 scale=1.03');
    repository.git('checkout', '--quiet', '--force', 'main');
    change('other', 'main-1');
    change('other', 'main-2');
    repository.git('merge', '--quiet', '--no-edit', 'side');
    const { json } = await bisect(repository, [commits[0] ?? '', 'HEAD', ...CELL, ...STUB, ...BUILD]);
    expect(json.causes).toMatchObject([{ name: culprit, subject: 'side-2 scale=1.03' }]);
  }, 60_000);
});

describe('SIGKILL and Ctrl-C', () => {
  test('killed again and again, it goes on and repeats nothing that was measured', async () => {
    const { repository, commits } = history(slowFrom(3, 6));
    const { folder } = repository;
    const journal = join(folder, 'journal');
    const env = { STUB_JOURNAL: journal, STUB_DELAY_MS: '20' };
    const args = ['bisect', commits[0] ?? '', 'main', ...CELL, ...STUB, ...BUILD];
    const random = seededRandom(11);
    const loads = (): number =>
      existsSync(journal) ? readFileSync(journal, 'utf8').split('--loadEngine').length - 1 : 0;
    let kills = 0;
    for (let round = 0; round < 3; round += 1) {
      // A process killed before it wrote its state leaves nothing to resume.
      const again = globSync('bisect/*/request.json', { cwd: folder }).length > 0 && round % 2 === 1;
      const child = startBench(again ? ['bisect', '--resume'] : args, { cwd: folder, env });
      const ended = finished(child);
      const enough = loads() + 1 + Math.floor(random() * 4);
      while (loads() < enough && child.exitCode === null) await sleep(10);
      await sleep(400 * random());
      child.kill('SIGKILL');
      if ((await ended).signal === 'SIGKILL') kills += 1;
    }
    expect(kills).toBe(3);
    const { code, json } = await bisect(repository, args.slice(1), { STUB_JOURNAL: journal });
    expect([code, json.causes[0]?.name, json.runs]).toEqual([0, commits[3], 8 + 8 * json.steps.length]);
    const db = join(folder, 'bench.sqlite');
    const stored = queryStore(db, `SELECT * FROM runs WHERE role = 'timed'`).length;
    expect(stored).toBe(json.runs);
    expect(loads()).toBeLessThanOrEqual(stored + kills);
    expect(queryStore(db, 'SELECT DISTINCT state FROM sweeps')).toEqual([{ state: 'finished' }]);
    expectNoWorktrees(repository, 'bisect');
  }, 120_000);

  test('Ctrl-C while a run is measured: nothing is left running, and --resume goes on', async () => {
    const { repository, commits } = history(slowFrom(1, 3));
    const pids = join(repository.folder, 'pids');
    const env = { STUB_RULES: JSON.stringify([{ when: '--loadEngine', does: 'stubborn' }]), STUB_PIDS: pids };
    const args = ['bisect', commits[0] ?? '', 'main', ...CELL, ...STUB, ...BUILD];
    const child = startBench(args, { cwd: repository.folder, env });
    const ended = finished(child);
    const started = await writtenPids(pids);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect([code, started.every(isGone)]).toEqual([130, true]);
    expect(stderr).toContain('bench: interrupted; what was measured is stored: run the same command again to continue');
    expectNoWorktrees(repository, 'bisect');
    expect((await bisect(repository, ['--resume'])).json.causes).toMatchObject([{ name: commits[1] }]);
  }, 60_000);
});

describe('factors other than commits', () => {
  const FACTORS = `factors:
  level: {env: {good: {STUB_SCALE: 1}, bad: {STUB_SCALE: 1.03}}}
  clocks: {before: {good: [sh, -c, "echo scale=1 > clock"], bad: [sh, -c, "echo scale=1 > clock # bad"]}}
  matrix file: {matrix: {good: m.yaml, bad: m2.yaml}}
`;

  function folderWith(table: string): string {
    const folder = temporaryFolder();
    const matrix = `name: nightly
models: {small: {shapes: {input: [batch, 3]}, precisions: {fp16: {onnx: model.onnx}}}}
axes: {precision: fp16, batch: 8}
`;
    writeInto(folder, 'm.yaml', matrix);
    writeInto(folder, 'm2.yaml', `${matrix}# the same\n`);
    writeInto(folder, 'model.onnx', 'scale=1');
    writeInto(folder, 'factors.yaml', table);
    return folder;
  }

  const ARGS = ['--factors', 'factors.yaml', '--matrix', 'm.yaml', ...STUB];

  test('the one that does it is found and was tested alone', async () => {
    const cwd = folderWith(FACTORS);
    const { code, json, stderr } = await bisect({ folder: cwd }, ARGS, { BISECT_SCALE_FILE: join(cwd, 'clock') });
    expect([code, stderr.includes('bench: ')]).toEqual([0, false]);
    const evidence = { changePercent: expect.closeTo(3, 3) };
    expect(json).toMatchObject({ status: 'found', causes: [{ name: 'level', evidence }] });
    expect(json.steps.map(({ candidate }) => candidate)).toContainEqual(['level']);
    expect(json.steps.length).toBeLessThanOrEqual(4);
  }, 60_000);

  test('a command to run before', async () => {
    const table = FACTORS.replace('STUB_SCALE: 1.03', 'OTHER: 1').replace('1 > clock # bad', '1.02 > clock');
    const folder = folderWith(table);
    const { json } = await bisect({ folder }, ARGS, { BISECT_SCALE_FILE: join(folder, 'clock') });
    expect(json).toMatchObject({ causes: [{ name: 'clocks' }] });
  }, 60_000);

  test('every mistake of the table is told with its place', async () => {
    const table = `factors:
  a: {envv: {good: {}, bad: {}}}
  c: {env: {good: {A: 1}}}
  d: {before: {good: "rm -rf x", bad: []}}
`;
    const refused = (factors: string) => bench(['bisect', ...ARGS, '--json'], { cwd: folderWith(factors) });
    const { code, stdout, stderr } = await refused(table);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'bench: factors.yaml:2:7: unknown key "envv"; did you mean "env"?',
      'bench: factors.yaml:3:12: factors.c.env.bad is missing',
      'bench: factors.yaml:4:22: factors.d.before.good: "rm -rf x": a list is needed',
    ]);
    const text = 'bench: factors.yaml:1:31: b.trtexec.good: no-such: file not found';
    expect((await refused('factors: {b: {trtexec: {good: no-such, bad: no-such-either}}}')).stderr).toContain(text);
    const same = 'factors: {a: {env: {good: {A: 1}, bad: {A: 1}}}}';
    expect((await refused(same)).stderr).toContain('factors.yaml:1:11: a: good and bad are the same');
    const twice = `${FACTORS}  again: {matrix: {good: m.yaml, bad: m2.yaml}}\n`;
    expect((await refused(twice)).stderr).toContain('again: matrix is already switched by matrix file');
  });
});

describe('wrong use and hostile names', () => {
  let made: string;
  beforeAll(() => {
    made = sharedFolder();
    makeHistory(new Repository(made), slowFrom(1, 3));
  });

  test.each([
    ['between which commits?', ['bisect', 'HEAD', '--matrix', 'm.yaml']],
    ['nope: ', ['bisect', 'nope', 'HEAD', '--matrix', 'm.yaml']],
    ['both sides are commit', ['bisect', 'HEAD', 'main', '--matrix', 'm.yaml']],
    ['name the older commit first', ['bisect', 'HEAD', 'HEAD~2', '--matrix', 'm.yaml']],
    ['has 2 cells', ['bisect', 'HEAD~2', 'HEAD', '--matrix', 'm.yaml', ...STUB, ...BUILD]],
    ['(see `bench plan m.yaml`)', ['bisect', 'HEAD~2', 'HEAD', '--matrix', 'm.yaml', '--cell', 'x', ...STUB, ...BUILD]],
    ['file not found', ['bisect', 'HEAD~2', 'HEAD', '--matrix', 'none.yaml', ...STUB]],
    ['--factors takes no commits', ['bisect', 'HEAD', '--factors', 'm.yaml', '--matrix', 'm.yaml']],
    ['name a metric that each run has', ['bisect', 'HEAD~2', 'HEAD', ...CELL, '--metric', 'buildS']],
    ['no bisection was interrupted', ['bisect', '--resume']],
  ])('%s', async (message, args) => {
    const { code, stdout, stderr } = await bench(args, { cwd: made });
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
    expect(stderr.match(/^bench: /gm)).toHaveLength(1);
  });

  test('folders, subjects, branches and commands that would run something are only names', async () => {
    const evil = `a b'"; $(touch pwned) \`touch pwned\` | & > pwned \n\u001b[31mred😀`;
    const folder = join(temporaryFolder(), evil);
    mkdirSync(folder);
    const repository = new Repository(folder);
    const commits = makeHistory(repository, slowFrom(1, 3));
    for (const commit of commits.slice(0, 1)) repository.git('branch', "x$(touch_pwned);'", commit);
    repository.git('commit', '--quiet', '--amend', '--message', evil);
    writeFileSync(join(folder, evil.replaceAll('/', '_')), '#!/bin/sh\nexec ./build.sh\n', { mode: 0o755 });
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', evil);
    const args = ["x$(touch_pwned);'", 'HEAD', ...CELL, ...STUB, '--', './build.sh', evil];
    const { code, stdout, stderr } = await bench(['bisect', ...args], { cwd: folder });
    expect([code, stderr.includes('bench: ')]).toEqual([0, false]);
    for (const line of `${stdout}${stderr}`.split('\n')) expect(printable(line)).toBe(line);
    expect(stdout).toContain(`first bad commit: ${commits[1]?.slice(0, 8)}`);
    expect(JSON.stringify(readdirSync(folder, { recursive: true }))).not.toContain('pwned"');
    const failed = await bench(['bisect', 'HEAD~2', 'HEAD', ...CELL, ...STUB, '--', evil], { cwd: folder });
    expect(failed.code).toBe(4);
    for (const line of `${failed.stdout}${failed.stderr}`.split('\n')) expect(printable(line)).toBe(line);
    expect(JSON.stringify(readdirSync(folder, { recursive: true }))).not.toContain('pwned"');
  }, 60_000);
});

const named = (count: number): string[] => Array.from({ length: count }, (_, place) => `f${place}`);

function searched(factors: readonly string[], judge: (bad: readonly string[]) => JudgedFactors['verdict']) {
  const judged: JudgedFactors[] = [];
  for (;;) {
    const state = searchFactors(factors, judged);
    if (state.kind !== 'test') return { state, judged };
    expect(judged.map(({ candidate }) => candidate)).not.toContainEqual(state.candidate);
    expect(state.candidate.length).toBeLessThan(factors.length);
    judged.push({ candidate: [...state.candidate], verdict: judge(state.candidate) });
  }
}

describe('factors other than commits', () => {
  test('each of 1 to 33 is found and was tested alone, in at most ceil(log2 n) + 1 tests', () => {
    for (let count = 1; count <= 33; count += 1) {
      for (const culprit of named(count)) {
        const { state, judged } = searched(named(count), (bad) => (bad.includes(culprit) ? 'bad' : 'good'));
        expect(state).toEqual({ kind: 'found', names: [culprit] });
        expect(judged.length).toBeLessThanOrEqual(Math.ceil(Math.log2(count)) + 1);
        const alone = judged.some(({ candidate }) => candidate.length === 1 && candidate[0] === culprit);
        expect(alone || count === 1).toBe(true);
      }
    }
  });

  test('two that do harm only together are not taken for one', () => {
    for (const [a, b] of [
      ['f0', 'f1'],
      ['f0', 'f7'],
      ['f3', 'f4'],
    ] as const) {
      const { state } = searched(named(8), (bad) => (bad.includes(a) && bad.includes(b) ? 'bad' : 'good'));
      expect(state).toEqual({ kind: 'together', names: named(8) });
    }
  });

  test('whatever cannot be measured, it ends and does not clear the culprit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        fc.func(fc.integer({ min: 0, max: 2 })),
        (count, pick, luck) => {
          const factors = named(count);
          const culprit = factors[pick % count] ?? '';
          const { state } = searched(factors, (bad) =>
            luck(bad) === 0 ? 'unclear' : bad.includes(culprit) ? 'bad' : 'good',
          );
          if (state.kind === 'found') expect(state.names).toEqual([culprit]);
          else expect(state.names).toContain(culprit);
        },
      ),
      { seed: 5, numRuns: 500 },
    );
  });
});
