import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';

import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';
import { Repository } from '../support/repository.ts';

const FORMATS = readFileSync(join(ROOT, 'docs', 'how-to', 'nightly.md'), 'utf8');

/** The block that says `# as FILE` in its first line. */
function recipe(file: string): string {
  const block = FORMATS.split('```').find((text) => text.startsWith(`text\n# as ${file}\n`));
  if (block === undefined) throw new Error(`no recipe ${file}`);
  return block.slice('text\n'.length);
}

type GithubStep = { readonly run?: string; readonly if?: string };

const github: { jobs: { bench: { steps: GithubStep[] } } } = parse(recipe('.github/workflows/bench.yaml'));
const gitlab: { bench: { script: string[] } } = parse(recipe('.gitlab-ci.yml'));

interface Runner {
  readonly remote: Repository;
  readonly folder: string;
  /** A fresh checkout without a branch, as a CI makes it. */
  checkout(revision: string): string;
  run(line: string, cwd: string, variables: Readonly<Record<string, string>>): Step;
}

type Step = { readonly line: string; readonly code: number | null; readonly output: string };

function runner(): Runner {
  const folder = temporaryFolder();
  const tools = join(folder, 'tools');
  mkdirSync(tools);
  symlinkSync(join(ROOT, 'bin', 'bench.js'), join(tools, 'bench'));
  writeFileSync(join(tools, 'gh'), '#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\ncat "$1"\n', { mode: 0o755 });
  const home = join(folder, 'remote');
  mkdirSync(join(home, 'matrices'), { recursive: true });
  const remote = new Repository(home);
  copyFileSync(join(ROOT, 'matrices', 'quickstart-pair.yaml'), join(home, 'matrices', 'nightly.yaml'));
  writeFileSync(join(home, 'build.sh'), '#!/bin/sh\n: > built\n', { mode: 0o755 });
  remote.git('add', 'matrices', 'build.sh');
  remote.commit();
  const store = join(folder, 'store');
  mkdirSync(store);
  let checkouts = 0;
  return {
    remote,
    folder,
    checkout(revision) {
      checkouts += 1;
      const cwd = join(folder, `checkout${checkouts}`);
      execFileSync('git', ['clone', '--quiet', home, cwd]);
      execFileSync('git', ['checkout', '--quiet', '--detach', revision], { cwd });
      return cwd;
    },
    run(line, cwd, variables) {
      const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
        cwd,
        encoding: 'utf8',
        env: {
          PATH: [tools, join(process.execPath, '..'), process.env['PATH']].join(delimiter),
          HOME: folder,
          CI: 'true',
          BENCH_DB: join(store, 'bench.sqlite'),
          BENCH_LOCK_DIR: join(folder, 'locks'),
          ...variables,
        },
      });
      return { line, code: status, output: stdout + stderr };
    },
  };
}

function onGithub(
  machine: Runner,
  cwd: string,
  event: 'push' | 'pull_request',
  variables: Readonly<Record<string, string>>,
): Step[] {
  const summary = join(cwd, 'summary.md');
  writeFileSync(summary, '');
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd, encoding: 'utf8' }).trim();
  const all = { GITHUB_ACTIONS: 'true', GITHUB_SHA: commit, GITHUB_STEP_SUMMARY: summary, ...variables };
  return github.jobs.bench.steps
    .filter(({ if: condition = '' }) => {
      const [, operator, name] = /event_name (==|!=) '(\w+)'/.exec(condition) ?? [];
      return operator === undefined || (operator === '==') === (name === event);
    })
    .flatMap(({ run }) =>
      run === undefined ? [] : [machine.run(run.replace('${{ github.event.number }}', '12'), cwd, all)],
    );
}

describe('the recipes for a CI, in a detached checkout', () => {
  test('GitHub: the first pull request has a result, though main was never measured', () => {
    const machine = runner();
    const { remote } = machine;
    remote.git('checkout', '--quiet', '-b', 'feature');
    remote.commit('faster');
    const pull = {
      GITHUB_HEAD_REF: 'feature',
      GITHUB_REF_NAME: '12/merge',
      GITHUB_REF: 'refs/pull/12/merge',
      GITHUB_REF_TYPE: 'branch',
      GITHUB_EVENT_NAME: 'pull_request',
    };
    const first = machine.checkout('origin/feature');
    const steps = onGithub(machine, first, 'pull_request', pull);
    expect(steps.map(({ line, code }) => [line.split(' ')[1], code])).toEqual([
      ['compare', 0],
      ['report', 0],
      ['report', 0],
      ['pr', 0],
    ]);
    expect(steps.at(-1)?.output).toContain('origin/main');
    expect(steps.at(-1)?.output).not.toContain('not compared: ');
    expect(readFileSync(join(first, 'summary.md'), 'utf8')).toContain('No slower cell among 2');
    expect(existsSync(join(first, 'built'))).toBe(false);

    const main = onGithub(machine, machine.checkout('origin/main'), 'push', { GITHUB_REF_NAME: 'main' });
    expect(main.map(({ code }) => code)).toEqual([0]);
    const listed = machine.run('bench ls sweeps --json', machine.folder, {});
    const { sweeps }: { sweeps: { branch: string | null }[] } = JSON.parse(listed.output);
    expect(sweeps.map(({ branch }) => branch)).toEqual(['main', '(compare --run)', '(compare --run)']);

    remote.commit('again');
    const second = machine.checkout('origin/feature');
    const compared = onGithub(machine, second, 'pull_request', pull);
    expect(compared.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(compared.at(-1)?.output).toContain('origin/main');
    expect(compared.at(-1)?.output).not.toContain('not compared: ');
    expect(existsSync(join(second, 'report.xml'))).toBe(true);
  });

  test('GitLab: what the job stored is what its report reads', () => {
    const machine = runner();
    const cwd = machine.checkout('origin/main');
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd, encoding: 'utf8' }).trim();
    const variables = { CI_COMMIT_SHA: commit, CI_COMMIT_REF_NAME: 'main' };
    const steps = gitlab.bench.script.map((line) => machine.run(line, cwd, variables));
    expect(steps.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(readFileSync(join(cwd, 'report.xml'), 'utf8')).toContain('<testsuite');
    expect(readFileSync(join(cwd, 'metrics.txt'), 'utf8')).toContain('# EOF');
    expect(steps.at(-1)?.output).toContain(' · quickstart-pair · main ');
  });
});
