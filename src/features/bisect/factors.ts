import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { UsageError } from '../../errors.ts';
import { type FactorSetting, readFactors } from '../../matrix/points/factors.ts';
import { runCommand } from '../../run/checkout/commit-checkout.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { readGitState } from '../../tools/git/git.ts';
import { recordedRuns } from '../../trtexec/replay/recording-set.ts';
import { inTurns, type TurnSide } from '../compare/index.ts';
import { prepare } from '../plan/index.ts';
import { type NextTest, type Search, type Settings, type Step, measureOptions } from './search.ts';

/** A verdict with these factors at their bad value and all others at their good value. */
export type JudgedFactors = Pick<Step, 'candidate' | 'verdict'>;

/**
 * Chooses the factors to set to bad next: half of the suspects. It tests the last remaining factor alone, unless it was
 * tested already: a factor that acts only together with others is not the cause. If a half cannot be judged, the other
 * half replaces it, then single factors.
 */
export function searchFactors(factors: readonly string[], judged: readonly JudgedFactors[]): NextTest {
  const verdictAt = (bad: readonly string[]) =>
    judged.find(({ candidate }) => candidate.join('\0') === bad.join('\0'))?.verdict;
  let suspects = factors;
  while (suspects.length > 1) {
    const half = Math.ceil(suspects.length / 2);
    const parts = [suspects.slice(0, half), suspects.slice(half), ...suspects.map((factor) => [factor])];
    const candidate = parts.find((part) => [undefined, 'bad', 'good'].includes(verdictAt(part)));
    if (candidate === undefined) return { kind: 'range', names: suspects };
    const verdict = verdictAt(candidate);
    if (verdict === undefined) return { kind: 'test', candidate };
    suspects = verdict === 'bad' ? candidate : suspects.filter((factor) => !candidate.includes(factor));
  }
  // All factors at bad are the bad end, which was measured first.
  const verdict = factors.length === 1 ? 'bad' : verdictAt(suspects);
  if (verdict === undefined) return { kind: 'test', candidate: suspects };
  if (verdict === 'good') return { kind: 'together', names: factors };
  return { kind: verdict === 'bad' ? 'found' : 'range', names: suspects };
}

/** The two sides differ in the factors, so that these conditions need not match. */
const ACROSS = { acrossClocks: true, acrossGpu: true, acrossProvenance: true, acrossTensorrt: true } as const;

/** Bisects all possible causes except commits: some factors at their bad value against all at their good value. */
export async function factorSearch(settings: Settings, file: string, io: Io): Promise<Search> {
  const factors = readFactors(file, readText(resolve(io.cwd, file), file), { cwd: io.cwd, isThere: existsSync });
  const names = factors.map(({ name }) => name);
  const git = await readGitState(io.cwd);
  const valuesAt = (bad: readonly string[]): FactorSetting[] =>
    factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
  const matrix = settings.request.matrix ?? valuesAt([]).find((values) => values.matrix !== undefined)?.matrix;
  if (matrix === undefined) throw new UsageError('name the matrix: --matrix FILE, or a factor with a matrix');
  const { measuredSides, pairIds } = await inTurns();
  const options = { ...measureOptions(settings, matrix, io), ...ACROSS };
  const sideAt = (bad: readonly string[]): TurnSide => ({
    text: printable(bad.length === 0 ? 'all good' : `bad: ${bad.join(', ')}`),
    git,
    ...factorSide(valuesAt(bad), settings, matrix, io),
  });
  const { filter, metric } = options;
  const asked = (bad: readonly string[]) => ({
    ...settings.request,
    startedAt: '',
    filter,
    metric,
    values: [valuesAt([]), valuesAt(bad)],
  });
  const end = { ref: null, commit: git.commit, subject: null };
  return {
    kind: 'factors',
    good: end,
    bad: end,
    all: names,
    next: async (steps) => searchFactors(names, steps),
    measured: async (bad, goal) =>
      measuredSides(asked(bad), { base: sideAt([]), head: sideAt(bad) }, { ...options, ...goal }, io),
    idsOf: async (bad) => pairIds(asked(bad), 1),
    subjectOf: async () => null,
  };
}

function readText(path: string, shown: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${printable(shown)}: file not found or not readable`);
  }
}

/** The machine with these values of the factors. */
function factorSide(
  values: readonly FactorSetting[],
  { folder, request }: Settings,
  file: string,
  io: Io,
): Pick<TurnSide, 'beforeRun' | 'cacheFor' | 'plan'> {
  // No two factors set the same key, except variables and commands.
  const value: FactorSetting = Object.assign({}, ...values);
  const variables = values.flatMap(({ env = {} }) => Object.entries(env));
  const env = { ...io.env, ...Object.fromEntries(variables.map(([name, text]) => [name, text ?? undefined])) };
  const there: Io = { ...io, env };
  const { matrix = file, replay = request.replay, trtexec = request.trtexec } = value;
  const programs = defined({ replay: replay ?? undefined, trtexec: trtexec ?? undefined });
  return {
    plan: async (options, models) => {
      const { program, set, ...prepared } = await prepare(matrix, { ...options, ...programs }, models, there);
      if (program === null) throw new UsageError('trtexec not found');
      const capacity = (key: string): number => (set === null ? Infinity : recordedRuns(set, prepared.plan, key));
      return { io: there, matrix: prepared.matrix, plan: prepared.plan, program, capacity };
    },
    cacheFor: ({ program }, shared) =>
      new EngineCache(program.recordings === null ? join(folder, 'engines', hashOf(values).slice(0, 16)) : shared),
    beforeRun: async () => {
      const commands = values.flatMap(({ before = [] }) => (before.length > 0 ? [before] : []));
      for (const [index, command] of commands.entries()) {
        const log = join(folder, 'logs', `before-${index + 1}`);
        await runCommand({ command, cwd: io.cwd, log }, there);
      }
    },
  };
}
