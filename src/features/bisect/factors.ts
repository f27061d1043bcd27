import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import type { FactorSetting } from '../../matrix/points/factors.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { BISECT_BRANCH, type GitState } from '../../records/sweep.ts';
import { readGitState } from '../../tools/git/git.ts';
import { runCommand } from '../../run/checkout/user-command.ts';
import type { Subject, Task } from './subject.ts';
import { factorTestsLeft, type JudgedFactors, keyOfFactors, searchFactors } from './factor-search.ts';
import type { BisectRequest, FactorRequest } from './state.ts';
import type { Judged } from './turns.ts';

/** Everything but commits that may cause the change. */
export async function factorTask(
  request: BisectRequest,
  { factors }: FactorRequest,
  folder: string,
  io: Io,
): Promise<Task> {
  const names = factors.map(({ name }) => name);
  const git = { ...(await readGitState(io.cwd)), branch: BISECT_BRANCH };
  const make = (bad: readonly string[]): Subject => {
    const settings = factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
    const label = bad.length === 0 ? 'all good' : bad.length === factors.length ? 'all bad' : `bad: ${bad.join(', ')}`;
    return factorSubject({ key: keyOfFactors(bad), label, git }, settings, request, folder, io);
  };
  const sets = (judged: readonly Judged[]): JudgedFactors[] =>
    judged.map(({ candidate, verdict }) => {
      const atBad = factorsOfKey(candidate);
      return { bad: names.filter((name) => atBad.includes(name)), verdict };
    });
  return {
    good: make([]),
    bad: make(names),
    next: (judged) => {
      const next = searchFactors(names, sets(judged));
      return next.kind === 'test' ? { kind: 'test', candidate: make(next.candidate) } : next;
    },
    testsLeft: (judged) => factorTestsLeft(names, sets(judged)),
    subject: (key) => make(factorsOfKey(key)),
    close: () => rm(join(folder, 'timing'), { recursive: true, force: true }),
    keyOf: (name) => keyOfFactors([name]),
    namesOf: factorsOfKey,
    subjectOf: () => null,
  };
}

function factorsOfKey(key: string): string[] {
  const parsed: unknown = JSON.parse(key);
  return Array.isArray(parsed) ? parsed.map(String) : [];
}

/** The machine with some factors at their bad value, all others at their good one. */
function factorSubject(
  about: { readonly key: string; readonly label: string; readonly git: GitState },
  settings: readonly FactorSetting[],
  request: BisectRequest,
  folder: string,
  io: Io,
): Subject {
  const cachePath = join(folder, 'timing', `${hashOf(about.key)}.cache`);

  /** A copy: the build writes into it. */
  const ownTimingCache = async (source: string | null | undefined): Promise<string | null> => {
    if (source === undefined) return null;
    await mkdir(dirname(cachePath), { recursive: true });
    await rm(cachePath, { force: true });
    if (source !== null) await copyFile(source, cachePath);
    return cachePath;
  };

  return {
    ...about,
    open: async () => {
      // No two factors set the same thing, except variables and commands, which are merged below.
      const setting: FactorSetting = Object.assign({}, ...settings);
      const variables = settings.flatMap(({ env = {} }) => Object.entries(env));
      const env = { ...io.env, ...Object.fromEntries(variables.map(([name, value]) => [name, value ?? undefined])) };
      const { matrix = request.matrix, trtexec = request.trtexec, replay = request.replay, model = null } = setting;
      if (matrix === null) throw new UsageError('which matrix? --matrix FILE, or a factor with one');
      const commands = settings.flatMap(({ before = [] }) => (before.length > 0 ? [before] : []));
      const placed: Io = { ...io, env };
      return {
        io: placed,
        matrix,
        trtexec,
        replay,
        model,
        timingCache: await ownTimingCache(setting.timingCache),
        hasOwnEngines: () => true,
        beforeRun: async () => {
          for (const [index, command] of commands.entries()) {
            const log = join(folder, 'logs', `before-${index + 1}`);
            await runCommand({ command, cwd: io.cwd, log }, placed);
          }
        },
      };
    },
    close: () => rm(cachePath, { force: true }),
  };
}
