import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import type { Comparison } from '../../../src/features/compare/index.ts';
import { printable } from '../../../src/text/printable.ts';
import {
  BISECT_TRTEXEC,
  expectNoWorktrees,
  history,
  makeHistory,
  slowFrom,
  writeInto,
} from '../../support/bisect-repository.ts';
import { bench, finished, refusal, ROOT, sharedFolder, startBench, temporaryFolder } from '../../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../../support/gpu-machine.ts';
import { benchJson, OUTPUTS } from '../../support/outputs.ts';
import { isGone, writtenPids } from '../../support/processes.ts';
import { Repository } from '../../support/repository.ts';
import { queryStore } from '../../support/store-dump.ts';

const MATRIX = ['--run', '--matrix', 'm.yaml'];
const STUB = ['--trtexec', BISECT_TRTEXEC];
const BUILD = ['--build', 'sh build.sh'];
const ALL = [...MATRIX, ...BUILD, ...STUB];
const ONE = [...ALL, '--filter', 'batch=8'];

interface StoredSweep {
  readonly git_commit: string;
  readonly branch: string;
  readonly name: string;
  readonly state: string;
}

/** With absolute paths, which are read in this process. */
const placed = (folder: string, args: readonly string[]): string[] =>
  ['compare', ...args].map((arg) => (arg.endsWith('.yaml') ? join(folder, arg) : arg));

const run = ({ folder: cwd }: Repository, args: readonly string[]) => bench(placed(cwd, args), { cwd });

const compared = ({ folder: cwd }: Repository, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  benchJson(OUTPUTS.compare, placed(cwd, args), { cwd, env });

/** Of each cell, on both sides. */
const runsOf = ({ cells }: Comparison): string => cells.map(({ runs }) => runs.join()).join(' ');

function sweepsOf({ folder }: Repository): StoredSweep[] {
  return queryStore<StoredSweep>(
    join(folder, 'bench.sqlite'),
    'SELECT git_commit, git_branch AS branch, name, state FROM sweeps ORDER BY started_at',
  );
}

/** The runs of a sweep in the order in which they were made, as commit and repeat. */
function orderOf({ folder }: Repository): string[] {
  const rows = queryStore<{ commit: string; repeat: number }>(
    join(folder, 'bench.sqlite'),
    `SELECT s.git_commit AS "commit", r.repeat FROM runs r JOIN sweeps s USING (sweep_id)
     WHERE r.role = 'timed' ORDER BY r.started_at`,
  );
  return rows.map(({ commit, repeat }) => `${commit} ${repeat}`);
}

function expectNothingLeft(repository: Repository): void {
  expect(existsSync(join(repository.folder, 'compare-run'))).toBe(false);
  expectNoWorktrees(repository, 'compare-run');
}

describe('bench compare A..B --run --build CMD', () => {
  test('measures both commits in turns, stores and compares them; a dirty tree stays as it is', async () => {
    const { repository, commits } = history(slowFrom(1, 2));
    writeInto(repository.folder, 'source', 'not committed scale=9\n');
    const status = repository.git('status', '--porcelain=v2', '--branch');
    const { code, json, stderr } = await compared(repository, ['HEAD~1..HEAD', ...ONE]);
    expect([code, json.cells]).toMatchObject([1, [{ verdict: 'slower', runs: [3, 3] }]]);
    expect(json.cells[0]?.changePercent).toBeCloseTo(5, 3);
    expect([json.base.commit, json.head.commit, json.head.dirty]).toEqual([commits[0], commits[1], false]);
    const [first, second] = commits.map((commit) => commit.slice(0, 8));
    expect(stderr).toContain(`base HEAD~1 (${first}), head HEAD (${second})\n`);
    expect(stderr).toContain(`note: uncommitted changes are not measured: head is commit ${second}\n`);
    expect(stderr).toContain('1 cell, 3 to 20 runs of each on both sides · about ');
    expect(repository.git('status', '--porcelain=v2', '--branch')).toContain(status);
    expectNothingLeft(repository);
    // A B B A, or B A A B.
    const order = orderOf(repository);
    expect(order.map((each) => each.split(' ')[1])).toEqual(['1', '1', '2', '2', '3', '3']);
    const sides = order.map((each) => commits.indexOf(each.split(' ')[0] ?? ''));
    const [a = 0] = sides;
    expect(sides).toEqual([a, 1 - a, 1 - a, a, a, 1 - a]);
    const same = { branch: '(compare --run)', state: 'finished', name: expect.stringMatching(/^compare \w{8}$/) };
    expect(sweepsOf(repository)).toEqual(commits.map((git_commit) => ({ git_commit, ...same })));
    expect((await compared(repository, ['HEAD~1..HEAD'])).json.cells).toEqual(json.cells);
  }, 60_000);

  test('a second call measures nothing; --force measures all again with the engines of the first', async () => {
    const { repository } = history(slowFrom(1, 2));
    const env = { BUILD_JOURNAL: join(repository.folder, 'builds'), STUB_JOURNAL: join(repository.folder, 'journal') };
    const first = await compared(repository, ['HEAD~1', ...ONE], env);
    const starts = readFileSync(env.STUB_JOURNAL, 'utf8');
    const second = await compared(repository, ['HEAD~1', ...ONE], env);
    expect(second.json).toEqual(first.json);
    expect(second.stderr).toMatch(/^already measured on \d{4}-\d\d-\d\d; --force measures again\n$/);
    expect(readFileSync(env.STUB_JOURNAL, 'utf8')).toBe(starts);
    expect(readFileSync(env.BUILD_JOURNAL, 'utf8')).toBe('.\n.\n');
    const again = await compared(repository, ['HEAD~1', ...ONE, '--force'], env);
    expect(again.json.base.sweepIds).not.toEqual(first.json.base.sweepIds);
    expect(sweepsOf(repository)).toHaveLength(4);
    // The comparison takes the newest pair, not all that was ever measured.
    expect((await compared(repository, ['HEAD~1..HEAD'])).json.head.sweepIds).toEqual(again.json.head.sweepIds);
    const more = await compared(repository, ['HEAD~1', ...ONE, '--repeats', '5'], env);
    expect([runsOf(more.json), more.json.head.sweepIds]).toEqual(['5,5', again.json.head.sweepIds]);
  }, 60_000);

  test('what two pull requests measured against one commit is not mixed', async () => {
    const { repository, commits } = history(['one scale=1\n', 'two scale=1.05\n', 'three scale=1.1\n']);
    const [one = '', two = '', three = ''] = commits;
    const first = await compared(repository, [`${one}..${two}`, ...ONE]);
    const second = await compared(repository, [`${one}...${three}`, ...ONE]);
    expect((await compared(repository, [one, two])).json.base.sweepIds).toEqual(first.json.base.sweepIds);
    expect((await compared(repository, [one, three])).json.base.sweepIds).toEqual(second.json.base.sweepIds);
  }, 60_000);

  test('nightly sweeps of the same commits and it leave each other alone', async () => {
    const { repository, commits } = history(slowFrom(1, 2));
    const sweep = async (): Promise<void> => {
      execFileSync('sh', ['build.sh'], { cwd: repository.folder });
      await bench(['run', 'm.yaml', ...STUB, '--repeats', '2'], { cwd: repository.folder });
    };
    await sweep();
    const pair = await compared(repository, ['HEAD~1', ...ALL]);
    await sweep();
    expect(runsOf((await compared(repository, ['latest~1', 'latest'])).json)).toBe('2,2 2,2');
    // The newest sweeps of HEAD are nightly ones: what was measured together is compared.
    const later = await compared(repository, ['HEAD~1..HEAD']);
    expect(later.json).toMatchObject({ base: pair.json.base, head: pair.json.head });
    const check = await bench(['check', '--json'], { cwd: repository.folder });
    expect(check.stdout).not.toContain('compare --run');
    expect(check.stdout).not.toContain(commits[0]);
  }, 60_000);

  test('a build that fails: which commit, the last lines of its log, exit code 4', async () => {
    const { repository, commits } = history(['one scale=1\n', 'broken\n']);
    writeInto(repository.folder, 'fails.sh', '#!/bin/sh\n./build.sh || { echo "cc: no \u001b[31mway" >&2; exit 7; }\n');
    chmodSync(join(repository.folder, 'fails.sh'), 0o755);
    const args = ['HEAD~1', ...MATRIX, ...STUB, '--build', join(repository.folder, 'fails.sh')];
    const { code, stdout, stderr } = await run(repository, args);
    expect([code, stdout]).toEqual([4, '']);
    const second = commits[1]?.slice(0, 8) ?? '';
    const text = `^bench: head HEAD \\(${second}\\): .*: exit code 7; its output is in compare-run/\\w+/logs/\\w+\\.err$`;
    const lines = [expect.stringMatching(text), printable('bench:   cc: no \u001b[31mway')];
    expect(stderr.trimEnd().split('\n').slice(-2)).toEqual(lines);
    expect(existsSync(join(repository.folder, /its output is in (\S+)/.exec(stderr)?.[1] ?? ''))).toBe(true);
    expectNoWorktrees(repository, 'compare-run');
    expect(sweepsOf(repository)).toEqual([]);
  }, 60_000);

  test('a matrix that only the working tree has is put into both; cells that one commit lacks are left out', async () => {
    const { repository } = history(slowFrom(1, 2));
    const matrix = readFileSync(join(repository.folder, 'm.yaml'), 'utf8');
    writeInto(repository.folder, 'new.yaml', matrix);
    const args = ['HEAD~1', '--run', '--matrix', 'new.yaml', ...BUILD, ...STUB];
    const uncommitted = await compared(repository, args);
    const taken = /note: \S*new\.yaml is not in .*: taking that of the working tree/g;
    expect(uncommitted.stderr.match(taken)).toHaveLength(2);
    expect(uncommitted.json.cells).toHaveLength(2);
    // Not what was measured with the file as it was.
    writeInto(repository.folder, 'new.yaml', matrix.replace('[1, 8]', '[1]'));
    expect((await compared(repository, args)).json.cells).toHaveLength(1);
    writeInto(repository.folder, 'm.yaml', matrix.replace('[1, 8]', '[1, 4, 8]'));
    repository.git('commit', '--quiet', '--all', '--message', 'another batch');
    const { json, stderr } = await compared(repository, ['HEAD~1', ...ALL]);
    expect(stderr).toContain('note: 1 cell only in head, not measured');
    expect(runsOf(json)).toBe('3,3 3,3');
  }, 60_000);

  test('recordings, without a build; a matrix that the second commit changes', async () => {
    const repository = new Repository(temporaryFolder());
    const pair = `extends: ${join(ROOT, 'matrices', 'quickstart-pair.yaml')}\n`;
    for (const opt of ['', 'build: {opt: {batch: 32}}\n']) {
      writeInto(repository.folder, 'm.yaml', pair + opt);
      repository.git('add', '.');
      repository.commit();
    }
    const { code, json } = await compared(repository, ['m.yaml', '--run', '--filter', 'batch=1']);
    expect([code, json.provenance]).toEqual([1, 'recorded']);
    expect(json.cells.map(({ verdict }) => verdict)).toContain('slower');
    expect((await run(repository, [...MATRIX, '--filter', 'batch=1'])).stderr).toMatch(/^already measured on/);
    expectNothingLeft(repository);
  }, 60_000);
});

describe('with', () => {
  test('--gpus: both sides of a cell on the same one, cells on several at once', async () => {
    const machine = new GpuMachine(2);
    const { repository } = history(slowFrom(1, 2));
    const args = ['HEAD~1', ...MATRIX, ...BUILD, '--trtexec', GPU_TRTEXEC, '--gpus', 'all', '--repeats', '2'];
    expect((await compared(repository, args, machine.env)).json.cells).toHaveLength(2);
    const rows = queryStore<{ cell: string; gpu: string; sides: number }>(
      join(repository.folder, 'bench.sqlite'),
      `SELECT r.cell_key AS cell, e.gpu_uuid AS gpu, count(DISTINCT r.sweep_id) AS sides
       FROM runs r JOIN environments e USING (environment_id) WHERE r.role = 'timed' GROUP BY 1, 2`,
    );
    expect(rows.map(({ sides }) => sides)).toEqual([2, 2]);
    expect([new Set(rows.map(({ gpu }) => gpu)), machine.overlaps]).toEqual([new Set(machine.uuids), []]);
  }, 60_000);

  test('--budget: cells that do not fit are left out and named', async () => {
    const { json, stderr } = await compared(history(slowFrom(1, 2)).repository, ['HEAD~1', ...ALL, '--budget', '1s']);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'note: the budget of 1.0 s is too short for one cell: about 2 min 23 s; it leaves out 1 of 2 cells (about 23.4 s); they come first next time: small fp16 8x3 graph',
    );
    expect(stderr).toContain('1 cell, 3 to 20 runs of each on both sides · about 2 min 23 s\n');
    expect(json.cells.map(({ label, runs }) => [label, runs])).toEqual([['small fp16 1x3 graph', [3, 3]]]);
  }, 60_000);

  test('a shallow clone says how to get the rest', async () => {
    const { repository } = history(slowFrom(1, 2));
    const clone = join(temporaryFolder(), 'clone');
    execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${repository.folder}`, clone]);
    const text =
      'HEAD~1: not a git revision here; this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)\n';
    expect(await bench(['compare', 'HEAD~1..HEAD', ...MATRIX], { cwd: clone })).toEqual(refusal(`bench: ${text}`));
  });
});

describe('Ctrl-C and SIGKILL', () => {
  /** Ends bench in the middle of a run. */
  async function endedWhileMeasuring({ folder: cwd }: Repository, signal: 'SIGINT' | 'SIGKILL', args = ALL) {
    const pids = join(cwd, 'pids');
    const env = { STUB_RULES: JSON.stringify([{ when: '--shapes=input:8x3', does: 'stubborn' }]), STUB_PIDS: pids };
    const child = startBench(['compare', 'HEAD~1', ...args], { cwd, env });
    const ended = finished(child);
    await writtenPids(pids);
    child.kill(signal);
    return ended;
  }

  test('Ctrl-C while a run is measured: nothing is left, and the same command goes on', async () => {
    const { repository } = history(slowFrom(1, 2));
    const { code, stderr } = await endedWhileMeasuring(repository, 'SIGINT');
    expect(code).toBe(130);
    expect(stderr).toContain(
      'bench: interrupted; what was measured is stored: run the same command again to continue\n',
    );
    const started = await writtenPids(join(repository.folder, 'pids'));
    expect(started.map(isGone)).toEqual(started.map(() => true));
    expectNoWorktrees(repository, 'compare-run');
    expect(new Set(sweepsOf(repository).map(({ state }) => state))).toEqual(new Set(['interrupted']));
    expect((await bench(['run', '--resume'], { cwd: repository.folder })).stderr).toContain('nothing to resume');
    const { code: compares, json } = await compared(repository, ['HEAD~1', ...ALL]);
    expect([compares, runsOf(json)]).toEqual([1, '3,3 3,3']);
    expect(sweepsOf(repository).map(({ state }) => state)).toEqual(['finished', 'finished']);
    expectNothingLeft(repository);
  }, 60_000);

  test('what a kill left is cleaned up by the next call, whichever commits it is about', async () => {
    const { repository } = history(slowFrom(1, 3));
    expect(await endedWhileMeasuring(repository, 'SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    expect(repository.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(3);
    expect((await compared(repository, ['HEAD~2', ...ALL])).json.cells).toHaveLength(2);
    expectNothingLeft(repository);
  }, 60_000);

  test('a build that gives another model each time goes on only with --force', async () => {
    const { repository } = history(slowFrom(1, 2));
    const counter = join(repository.folder, 'counter');
    const script = `./build.sh && echo . >> ${counter} && cat ${counter} >> build/model.onnx\n`;
    writeInto(repository.folder, 'random.sh', script);
    const args = [...MATRIX, ...STUB, '--build', `sh '${join(repository.folder, 'random.sh')}'`];
    await endedWhileMeasuring(repository, 'SIGINT', args);
    const stderr = expect.stringMatching(/changed since sweep \w+ began: measure again with --force\n$/);
    expect(await run(repository, ['HEAD~1', ...args])).toMatchObject({ code: 2, stderr });
    const { json } = await compared(repository, ['HEAD~1', ...args, '--force']);
    expect(json.cells.map(({ verdict }) => verdict)).toEqual(['slower', 'slower']);
    expectNoWorktrees(repository, 'compare-run');
  }, 60_000);
});

describe('wrong use', () => {
  const made = sharedFolder();
  beforeAll(() => makeHistory(new Repository(made), slowFrom(1, 2)));

  test.each([
    ['which matrix? Write bench compare A..B MATRIX --run, or --matrix FILE', ['--run']],
    ['nope: not a git revision here', ['nope..HEAD', ...MATRIX]],

    ['name two different commits', ['HEAD', ...MATRIX]],
    ['--branch cannot be used with --run, which measures two commits', [...MATRIX, '--branch', 'main']],
    ['--build is for a measurement: add --run, or leave it out', ['HEAD~1', '--build', 'make']],

    ['--untrusted refuses --build', [...ALL, '--untrusted']],
    ['runs without a shell, which "&&" is for', [...MATRIX, '--build', 'cd x && make']],

    ['none.yaml is neither in this commit nor in the working tree', ['--run', '--matrix', 'none.yaml']],
    ['add --build CMD, which makes it there', [...MATRIX, ...STUB]],
    ['"model=x" matches none of the 2 cells', [...ALL, '--filter', 'model=x']],
  ])('%s', async (message, args) => {
    const ended = await bench(['compare', ...args], { cwd: made });
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });

  test('outside of a repository', async () => {
    const text = 'bench: there is no git repository here, or no git: bench checks out two commits and measures them\n';
    expect(await bench(['compare', ...MATRIX], { cwd: temporaryFolder() })).toEqual(refusal(text));
  });
});
