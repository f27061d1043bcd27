import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../files/folders.ts';
import { withStore } from '../../cli/with-store.ts';
import { BenchError, UsageError } from '../../errors.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { BrokenSubjectError, runCommand } from '../../run/checkout/commit-checkout.ts';
import { printable } from '../../text/printable.ts';
import { addWorktree, contains, git, removeWorktree, repositoryFolder, subjectOf } from '../../tools/git/git.ts';
import { inTurns, type MeasureOptions, type TwoCommits } from '../compare/index.ts';
import { type BisectOutput, type Settings, evidenceOf, measureOptions, outputOf, verdictOf } from './report.ts';
import type { CommitRequest } from './request.ts';

/**
 * The script that `git bisect run` starts in a worktree that holds git's state but no files. It compares the commit
 * with GOOD by the command in the remaining arguments. Exit code 0 means a good commit and 1 a bad one. Codes 4
 * (failed) and 5 (unclear) skip the commit, and any other code ends the search.
 */
export const STEP = `
commit=$(git rev-parse BISECT_HEAD) || exit 255
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX
cd "$1" || exit 255
good=$2
shift 2
"$@" "$good..$commit"
code=$?
case $code in
  0 | 1) exit $code ;;
  4 | 5) exit 125 ;;
  *) exit 255 ;;
esac`;

export async function bisectCommits(settings: Settings, search: CommitRequest, io: Io): Promise<BisectOutput> {
  const { bisectId, db: path, folder, request } = settings;
  const { bad, badRef, command, good, goodRef } = search;
  const repository = await repositoryFolder(io.cwd);
  if (repository === null) throw new UsageError('there is no git repository here');
  if (!(await contains(io.cwd, bad, good))) {
    const names = `${printable(goodRef)} is not an ancestor of ${printable(badRef)}`;
    throw new UsageError(`${names}: name the older commit first, or their merge base (git merge-base)`);
  }
  const options = {
    ...measureOptions(settings, request.matrix ?? '', io),
    ...(command.length === 0 ? {} : { build: command }),
  };
  const { measuredCommits, storedCommits } = await inTurns();
  const upTo = (commit: string, ref = commit): TwoCommits => ({
    repository,
    base: { ref: goodRef, commit: good },
    head: { ref, commit },
    isDirty: false,
  });
  const problem = await measuredCommits(upTo(bad, badRef), options, io).then(
    () => null,
    (error: unknown) => {
      if (error instanceof BenchError && error.exitCode === EXIT_CODES.incomplete) return error.lines[0] ?? null;
      throw error;
    },
  );
  const stored = (commit: string) =>
    withStore({ db: path }, io, ({ db }) => storedCommits(db, upTo(commit), options, io));
  const ends = await stored(bad);
  const verdict = verdictOf(ends.compared);
  const state = join(folder, 'state');
  const half = Math.abs(evidenceOf(ends.compared)?.changePercent ?? 0) / 2;
  const compare = [...compareCommand(options), `--until-sure=${half}`, `--min-change=${half}`];
  const isSearched = verdict === 'slower';
  const answer = isSearched ? await gitAnswer(search, { repository, folder, state, compare }, io) : null;
  await removeWorktree(repository, state);
  const steps: BisectOutput['steps'][number][] = [];
  for (const { commit, subject, verdict: said } of answer?.steps ?? []) {
    const { compared, pair } = await stored(commit);
    const found = said === 'good' || said === 'bad' ? said : verdictOf(compared) === 'unclear' ? 'unclear' : 'broken';
    const reason = found === 'broken' ? `it could not be built or measured: see bisect/${bisectId}/git.err` : null;
    const evidence = evidenceOf(compared);
    steps.push({ candidate: [commit], subject, verdict: found, reason, evidence, sweepId: pair.head });
  }
  const causes: BisectOutput['causes'][number][] = [];
  for (const { commit, subject } of answer?.names ?? []) {
    causes.push({ name: commit, subject, evidence: evidenceOf((await stored(commit)).compared) });
  }
  const end = async (ref: string, commit: string) => ({ ref, commit, subject: await subjectOf(io.cwd, commit) });
  return outputOf(settings, ends.compared, {
    kind: 'commits',
    status: !isSearched ? verdict : causes.length === 1 ? 'found' : 'range',
    good: { ...(await end(goodRef, good)), sweepId: ends.pair.base },
    bad: { ...(await end(badRef, bad)), sweepId: ends.pair.head },
    causes,
    steps,
    notes: problem === null ? [] : [problem],
  });
}

function compareCommand({ build, force, telemetry, ...options }: MeasureOptions): string[] {
  const { db, filter, matrix, maxRepeats, metric, repeats, replay, trtexec } = options;
  const stated = { db, filter, matrix, metric, replay, trtexec, 'max-repeats': maxRepeats, repeats };
  return [
    process.execPath,
    join(packageFolder(), 'bin', 'bench.js'),
    'compare',
    '--run',
    '--fail-on=regression,failed,unclear',
    ...Object.entries(stated).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...(build === undefined ? [] : [`--build=${build.map(quoted).join(' ')}`]),
    ...(telemetry === false ? ['--no-telemetry'] : []),
    ...(force === true ? ['--force'] : []),
  ];
}

/** Quotes a word so that `--build` splits it again without expanding anything. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

interface GitSearch {
  readonly repository: string;
  readonly folder: string;
  /** Worktree with the state of git. */
  readonly state: string;
  /** Command that compares GOOD with a commit, without the commits. */
  readonly compare: readonly string[];
}

/**
 * Starts the search or resumes it, because git keeps the verdicts. `names` holds the first bad commit, or all
 * candidates if commits were skipped.
 */
async function gitAnswer({ bad, good }: CommitRequest, { compare, folder, repository, state }: GitSearch, io: Io) {
  let log = existsSync(state) ? await git(state, ['bisect', 'log']) : null;
  if (log === null) {
    const problem = await addWorktree(repository, state, good, ['--no-checkout']);
    if (problem !== null) throw new BrokenSubjectError(`git worktree: ${problem}`);
    await git(state, ['bisect', 'start', '--no-checkout', bad, good]);
  }
  if (log === null || namesIn(log).length === 0) {
    const command = ['git', 'bisect', 'run', 'sh', '-c', STEP, 'sh', io.cwd, good, ...compare];
    const read = (text: string, stream: 'stdout' | 'stderr') => (stream === 'stderr' ? io.err(text) : undefined);
    const run = { command, cwd: state, log: join(folder, 'git'), reader: { read, passed: () => null } };
    const failure: unknown = await runCommand(run, io).then(
      () => null,
      (error: unknown) => error,
    );
    log = (await git(state, ['bisect', 'log'])) ?? '';
    // It also fails if only skipped commits remain.
    if (failure !== null && (namesIn(log).length === 0 || !(failure instanceof BrokenSubjectError))) throw failure;
  }
  const steps = [...log.matchAll(/^# (good|bad|skip): \[(\w+)\] (.*)$/gm)]
    .map(([, verdict = '', commit = '', subject = '']) => ({ verdict, commit, subject }))
    .filter(({ commit }) => commit !== good && commit !== bad);
  return { names: namesIn(log), steps };
}

/** The oldest first. */
function namesIn(log: string) {
  const found = log.matchAll(/^# (?:possible )?first bad commit: \[(\w+)\] (.*)$/gm);
  return [...found].map(([, commit = '', subject = '']) => ({ commit, subject })).toReversed();
}
