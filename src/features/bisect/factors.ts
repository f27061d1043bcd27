import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { BenchError, InterruptedError, UsageError } from '../../errors.ts';
import { type FactorSetting, readFactors } from '../../matrix/points/factors.ts';
import { PLACEHOLDERS, type Plan, type PlannedBuild } from '../../records/plan.ts';
import { BrokenSubjectError, runCommand } from '../../run/checkout/commit-checkout.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { readGitState } from '../../tools/git/git.ts';
import { recordedRuns } from '../../trtexec/replay/recording-set.ts';
import { inTurns, type TurnSide } from '../compare/index.ts';
import { prepare } from '../plan/index.ts';
import { type BisectOutput, type Settings, evidenceOf, measureOptions, outputOf, verdictOf } from './report.ts';

type Step = BisectOutput['steps'][number];

/** `names`: the factors found, or those that remain; `together`: no single one makes the difference. */
type NextFactors =
  | { readonly kind: 'test'; readonly candidate: readonly string[] }
  | { readonly kind: 'found' | 'range' | 'together'; readonly names: readonly string[] };

/** A verdict with these factors at their bad value and all others at their good value. */
export type JudgedFactors = Pick<Step, 'candidate' | 'verdict'>;

/**
 * Chooses the factors to set to bad next: half of the suspects. It tests the last remaining factor alone, unless it was
 * tested already: a factor that acts only together with others is not the cause. If a half cannot be judged, the other
 * half replaces it, then single factors.
 */
export function searchFactors(factors: readonly string[], judged: readonly JudgedFactors[]): NextFactors {
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

const VERDICTS = { slower: 'bad', notSlower: 'good', unclear: 'unclear', failed: 'broken' } as const;

/** Bisects all possible causes except commits: some factors at their bad value against all at their good value. */
export async function bisectFactors(settings: Settings, file: string, io: Io): Promise<BisectOutput> {
  const { folder, request } = settings;
  const factors = readFactors(file, readText(resolve(io.cwd, file), file), { cwd: io.cwd, isThere: existsSync });
  const names = factors.map(({ name }) => name);
  const git = await readGitState(io.cwd);
  const valuesAt = (bad: readonly string[]): FactorSetting[] =>
    factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
  const matrix = request.matrix ?? valuesAt([]).find((values) => values.matrix !== undefined)?.matrix;
  if (matrix === undefined) throw new UsageError('name the matrix: --matrix FILE, or a factor with a matrix');
  const { measuredSides, pairIds } = await inTurns();
  const options = { ...measureOptions(settings, matrix, io), ...ACROSS };
  const sideAt = (bad: readonly string[]): TurnSide => {
    const text = bad.length === 0 ? 'all good' : bad.length === names.length ? 'all bad' : `bad: ${bad.join(', ')}`;
    return { text: printable(text), git, ...factorSide(valuesAt(bad), settings, matrix, io) };
  };
  const measured = async (bad: readonly string[], smallest?: number) => {
    const sides = { base: sideAt([]), head: sideAt(bad) };
    io.err(`measuring ${sides.head.text}\n`);
    const { filter, metric } = options;
    const asked = { ...request, startedAt: '', filter, metric, values: [valuesAt([]), valuesAt(bad)] };
    const sure = { ...options, ...defined({ untilSure: smallest, minChange: smallest }) };
    try {
      return { ...(await measuredSides(asked, sides, sure, io)), reason: null };
    } catch (error) {
      const isBroken = error instanceof BenchError && !(error instanceof InterruptedError) && !io.signal.aborted;
      if (!isBroken || (bad.length === names.length && !(error instanceof BrokenSubjectError))) throw error;
      return { pair: pairIds(asked, 1), compared: null, reason: error.lines[0] ?? error.name };
    }
  };
  const ends = await measured(names);
  const status = verdictOf(ends.compared);
  const half = Math.abs(evidenceOf(ends.compared)?.changePercent ?? 0) / 2;
  const steps: Step[] = [];
  const nextOf = () => (status === 'slower' ? searchFactors(names, steps) : { kind: status, names: [] });
  let next = nextOf();
  for (; next.kind === 'test'; next = nextOf()) {
    const { candidate } = next;
    const { compared, pair, reason } = await measured(candidate, half);
    const [verdict, evidence] = [VERDICTS[verdictOf(compared)], evidenceOf(compared)];
    steps.push({ candidate: [...candidate], subject: null, verdict, reason, evidence, sweepId: pair.head });
    io.err(`${verdict}: ${sideAt(candidate).text}\n`);
  }
  const causes = next.names.map((name) => {
    const alone = steps.find(({ candidate }) => candidate.length === 1 && candidate[0] === name);
    const evidence = names.length === 1 ? evidenceOf(ends.compared) : (alone?.evidence ?? null);
    return { name, subject: null, evidence };
  });
  for (const made of ['engines', 'timing']) await rm(join(folder, made), { recursive: true, force: true });
  const end = { ref: null, commit: git.commit, subject: null };
  return outputOf(settings, ends.compared, {
    kind: 'factors',
    status: next.kind,
    causes,
    good: { ...end, sweepId: ends.pair.base },
    bad: { ...end, sweepId: ends.pair.head },
    steps,
    notes: ends.reason === null ? [] : [ends.reason],
  });
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
  const own = hashOf(values).slice(0, 16);
  const { matrix = file, model = null, replay = request.replay, trtexec = request.trtexec } = value;
  const programs = defined({ replay: replay ?? undefined, trtexec: trtexec ?? undefined });
  return {
    plan: async (options, models) => {
      const { program, set, ...prepared } = await prepare(matrix, { ...options, ...programs }, models, there);
      if (program === null) throw new UsageError('trtexec not found');
      const timingCache = await ownTimingCache(value.timingCache, join(folder, 'timing', `${own}.cache`));
      const plan = withOwnFiles(prepared.plan, model, timingCache);
      const capacity = (key: string): number => (set === null ? Infinity : recordedRuns(set, plan, key));
      return { io: there, matrix: prepared.matrix, plan, program, capacity };
    },
    cacheFor: ({ program }, shared) =>
      new EngineCache(program.recordings === null ? join(folder, 'engines', own) : shared),
    beforeRun: async () => {
      const commands = values.flatMap(({ before = [] }) => (before.length > 0 ? [before] : []));
      for (const [index, command] of commands.entries()) {
        const log = join(folder, 'logs', `before-${index + 1}`);
        await runCommand({ command, cwd: io.cwd, log }, there);
      }
    },
  };
}

/** A copy, because the build writes into it. Null for the shared cache. */
async function ownTimingCache(source: string | null | undefined, copy: string): Promise<string | null> {
  if (source === undefined) return null;
  await mkdir(join(copy, '..'), { recursive: true });
  await rm(copy, { force: true });
  if (source !== null) await copyFile(source, copy);
  return copy;
}

function withOwnFiles(plan: Plan, model: string | null, timingCache: string | null): Plan {
  const shared = `--timingCacheFile=${PLACEHOLDERS.timingCache}`;
  const builds = plan.builds.map((build): PlannedBuild => {
    const args = build.args
      .filter((arg) => timingCache === null || arg !== shared)
      .map((arg) => (model !== null && arg === `--onnx=${build.onnxPath}` ? `--onnx=${model}` : arg));
    const cache = timingCache === null ? [] : [`--timingCacheFile=${timingCache}`];
    return { ...build, onnxPath: model ?? build.onnxPath, args: [...args, ...cache] };
  });
  const variants = plan.variants.map((variant) => ({ ...variant, onnxPath: model ?? variant.onnxPath }));
  return { ...plan, builds, variants };
}
