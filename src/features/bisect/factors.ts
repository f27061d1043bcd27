import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { UsageError, throwMistakes } from '../../errors.ts';
import { runCommand } from '../../run/run-command.ts';
import { readingProblem } from '../../selection/find-runs.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { readGitState } from '../../tools/git/git.ts';
import { inTurns, type TurnSide } from '../compare/index.ts';
import { prepare } from '../plan/index.ts';
import { type NextTest, type Search, type Settings, type Step, measureOptions } from './search.ts';
import type { Immutable } from '../../records/scalars.ts';
import { MistakeList, readSchema, readYaml } from '../../matrix/yaml/yaml-source.ts';

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
  const factors = readFactors(file, text, io.cwd);
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
          await runCommand(command, io.cwd, join(folder, 'logs', `before-${index + 1}`), there);
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

function bothSides<Value extends z.ZodType>(value: Value) {
  return z.strictObject({ good: value, bad: value }).optional();
}

const path = z.string().min(1);

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** Settings of a factor on each side; others stay unchanged. */
const factorSchema = z.strictObject({
  trtexec: bothSides(path),
  matrix: bothSides(path),
  replay: bothSides(path),
  /** Null unsets a variable. */
  env: bothSides(z.record(z.string().regex(/^[^=\0]+$/), text.nullable())),
  /** Command before every build and run, as a list of words without a shell; empty for none. */
  before: bothSides(z.array(text)),
});

const factorsSchema = z.strictObject({ factors: z.record(z.string(), factorSchema) });

type FactorFile = Immutable<z.infer<typeof factorSchema>>;

type Side = 'good' | 'bad';

/** Settings of a factor on one side. */
export type FactorSetting = { readonly [Kind in keyof FactorFile]: NonNullable<FactorFile[Kind]>[Side] };

interface Factor extends Readonly<Record<Side, FactorSetting>> {
  readonly name: string;
}

const PATHS = ['trtexec', 'matrix'] as const;

/**
 * Reads a table of factors: `factors: {NAME: {trtexec: {good: PATH, bad: PATH}, env: {good: {A: x}, bad: {}}}}`. All
 * settings under one name switch together. Paths are relative to the folder of the file.
 * @param file path as the user gave it, for messages
 * @throws MatrixError with every mistake
 */
function readFactors(file: string, content: string, cwd: string): Factor[] {
  const root = readYaml(file, content);
  const table = readSchema(root, factorsSchema);
  const list = new MistakeList(root, cwd);
  const factors = Object.entries(table.factors).map(([name, factor]): Factor => {
    const settingOf = (side: Side): FactorSetting => {
      const all = Object.entries(factor).map(([kind, both]) => [kind, both?.[side]] as const);
      const paths = PATHS.flatMap((kind) => {
        const stated = factor[kind]?.[side];
        if (stated === undefined) return [];
        const at = ['factors', name, kind, side];
        const absolute = list.pathFrom(list.at(at), stated);
        if (!existsSync(absolute)) list.add(at, `${name}.${kind}.${side}: ${stated}: file not found`);
        return [[kind, absolute] as const];
      });
      return Object.fromEntries([...all, ...paths]);
    };
    return { name, good: settingOf('good'), bad: settingOf('bad') };
  });
  addConflicts(factors, list);
  if (factors.length === 0) list.add(['factors'], 'factors: it is empty');
  throwMistakes(list.mistakes);
  return factors;
}

/** A factor must switch something, and no two factors may set the same key. */
function addConflicts(factors: readonly Factor[], list: MistakeList): void {
  const switchedBy = new Map<string, string>();
  for (const { name, good, bad } of factors) {
    const wrong = (problem: string): void => list.addAtKey(['factors', name], `${name}: ${problem}`);
    if (JSON.stringify(good) === JSON.stringify(bad)) wrong('good and bad are the same');
    const variables = [good.env, bad.env].flatMap((env) => Object.keys(env ?? {}));
    const kinds = Object.keys(good).filter((kind) => kind !== 'env' && kind !== 'before');
    for (const axis of new Set([...kinds, ...variables.map((variable) => `env.${variable}`)])) {
      const earlier = switchedBy.get(axis);
      if (earlier === undefined) switchedBy.set(axis, name);
      else wrong(`${axis} is already switched by ${earlier}`);
    }
  }
}
