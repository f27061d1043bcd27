import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { UsageError } from '../../errors.ts';
import { type FactorSetting, readFactors } from '../../matrix/points/factors.ts';
import { runCommand } from '../../run/checkout/commit-checkout.ts';
import { readingProblem } from '../../selection/find-runs.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { readGitState } from '../../tools/git/git.ts';
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
  const { folder, request } = settings;
  const text = await readFile(resolve(io.cwd, file), 'utf8').catch((error: unknown) => {
    throw new UsageError(`${printable(file)}: ${readingProblem(error)}`, { cause: error });
  });
  const factors = readFactors(file, text, { cwd: io.cwd, isThere: existsSync });
  const names = factors.map(({ name }) => name);
  const git = await readGitState(io.cwd);
  const valuesAt = (bad: readonly string[]): FactorSetting[] =>
    factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
  const good = valuesAt([]);
  const matrix = request.matrix ?? good.find((values) => values.matrix !== undefined)?.matrix;
  if (matrix === undefined) throw new UsageError('name the matrix: --matrix FILE, or a factor with a matrix');
  const { measuredSides, pairIds, sidePlanOf } = await inTurns();
  const options = { ...measureOptions(settings, matrix, io), ...ACROSS };
  const sideAt = (bad: readonly string[]): TurnSide => {
    const values = valuesAt(bad);
    // No two factors set the same key, except variables and commands.
    const value: FactorSetting = Object.assign({}, ...values);
    const variables = values.flatMap(({ env = {} }) => Object.entries(env));
    const env = { ...io.env, ...Object.fromEntries(variables.map(([name, set]) => [name, set ?? undefined])) };
    const there: Io = { ...io, env };
    const { replay = request.replay, trtexec = request.trtexec } = value;
    const programs = defined({ replay: replay ?? undefined, trtexec: trtexec ?? undefined });
    return {
      text: printable(bad.length === 0 ? 'all good' : `bad: ${bad.join(', ')}`),
      git,
      plan: async (planned, models) =>
        sidePlanOf(await prepare(value.matrix ?? matrix, { ...planned, ...programs }, models, there), there),
      cacheFor: ({ program }, shared) =>
        new EngineCache(program.recordings === null ? join(folder, 'engines', hashOf(values).slice(0, 16)) : shared),
      beforeRun: async () => {
        for (const [index, { before: command = [] }] of values.entries()) {
          const log = join(folder, 'logs', `before-${index + 1}`);
          if (command.length > 0) await runCommand({ command, cwd: io.cwd, log }, there);
        }
      },
    };
  };
  const stated = { ...request, startedAt: '', filter: options.filter, metric: options.metric };
  const asked = (bad: readonly string[]) => ({ ...stated, values: [good, valuesAt(bad)] });
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
  };
}
