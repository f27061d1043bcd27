import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { BenchError, InterruptedError, UsageError } from '../../errors.ts';
import { type FactorSetting, readFactors } from '../../matrix/points/factors.ts';
import { PLACEHOLDERS, type Plan, type PlannedBuild } from '../../records/plan.ts';
import { BrokenSubjectError, runCommand } from '../../run/checkout/user-command.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { readGitState } from '../../tools/git/git.ts';
import { recordedRuns } from '../../trtexec/replay/check-plan.ts';
import { inTurns, type TurnSide } from '../compare/index.ts';
import { prepare } from '../plan/index.ts';
import type { BisectOutput } from './output.ts';
import { evidenceOf, measureOptions, outputOf, type Settings, verdictOf } from './report.ts';

type StepVerdict = BisectOutput['steps'][number]['verdict'];

/** `names`: the factors found, or those that remain; `together`: no single one makes the difference. */
type NextFactors =
  | { readonly kind: 'test'; readonly candidate: readonly string[] }
  | { readonly kind: 'found' | 'range' | 'together'; readonly names: readonly string[] };

/** Consecutive unclear candidates after which the noise is too great to go on. */
const HOPELESS_IN_ROW = 6;

function isHopeless(judged: readonly JudgedFactors[]): boolean {
  const last = judged.slice(-HOPELESS_IN_ROW);
  return last.length === HOPELESS_IN_ROW && last.every(({ verdict }) => verdict === 'unclear');
}

/** These factors at their bad value, all others at their good one. */
export interface JudgedFactors {
  readonly bad: readonly string[];
  readonly verdict: StepVerdict;
}

/**
 * Which factors to set to bad next: half of the suspects. A factor left over at the end is tested alone, unless it was:
 * one that acts only together with others is not the cause. A half that cannot be judged is replaced by other halves,
 * then by single factors.
 */
export function searchFactors(factors: readonly string[], judged: readonly JudgedFactors[]): NextFactors {
  const verdicts = verdictsOf(judged);
  const { next, suspects } = narrowed(factors, verdicts);
  const [only] = suspects;
  if (next === null) return only === undefined ? { kind: 'range', names: [] } : lastOf(only, factors, verdicts);
  return next.kind === 'test' && isHopeless(judged) ? { kind: 'range', names: suspects } : next;
}

type Verdicts = ReadonlyMap<string, StepVerdict>;

function verdictsOf(judged: readonly JudgedFactors[]): Verdicts {
  return new Map(judged.map(({ bad, verdict }) => [keyOfFactors(bad), verdict]));
}

function narrowed(
  factors: readonly string[],
  verdicts: Verdicts,
): { readonly suspects: readonly string[]; readonly next: NextFactors | null } {
  let suspects = factors;
  while (suspects.length > 1) {
    const decided = partsOf(suspects).find((part) => {
      const verdict = verdicts.get(keyOfFactors(part));
      return verdict === undefined || verdict === 'bad' || verdict === 'good';
    });
    if (decided === undefined) return { suspects, next: { kind: 'range', names: suspects } };
    const verdict = verdicts.get(keyOfFactors(decided));
    if (verdict === undefined) return { suspects, next: { kind: 'test', candidate: decided } };
    suspects = verdict === 'bad' ? decided : suspects.filter((factor) => !decided.includes(factor));
  }
  return { suspects, next: null };
}

/** Halves, each starting one factor later, then single factors. */
function partsOf(suspects: readonly string[]): readonly string[][] {
  const half = Math.ceil(suspects.length / 2);
  const halves = suspects.map((_, start) =>
    suspects.filter((__, place) => (place - start + suspects.length) % suspects.length < half),
  );
  return [...halves, ...suspects.map((factor) => [factor])];
}

function lastOf(factor: string, factors: readonly string[], verdicts: Verdicts): NextFactors {
  // All factors bad is the bad end, which was measured first.
  if (factors.length === 1) return { kind: 'found', names: [factor] };
  const verdict = verdicts.get(keyOfFactors([factor]));
  if (verdict === undefined) return { kind: 'test', candidate: [factor] };
  if (verdict === 'bad') return { kind: 'found', names: [factor] };
  return verdict === 'good' ? { kind: 'together', names: factors } : { kind: 'range', names: [factor] };
}

function keyOfFactors(bad: readonly string[]): string {
  return JSON.stringify(bad.toSorted());
}

/** What a factor switches is not the same on both sides. */
const ACROSS = { acrossClocks: true, acrossGpu: true, acrossProvenance: true, acrossTensorrt: true } as const;

const VERDICTS = { slower: 'bad', notSlower: 'good', unclear: 'unclear', failed: 'broken' } as const;

/** Everything but commits that may cause the change: some factors at their bad value against all at their good one. */
export async function bisectFactors(settings: Settings, file: string, io: Io): Promise<BisectOutput> {
  const { folder, request } = settings;
  const factors = readFactors(file, readText(resolve(io.cwd, file), file), { cwd: io.cwd, isThere: existsSync });
  const names = factors.map(({ name }) => name);
  const git = await readGitState(io.cwd);
  const valuesAt = (bad: readonly string[]): FactorSetting[] =>
    factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
  const matrix = request.matrix ?? valuesAt([]).find((values) => values.matrix !== undefined)?.matrix;
  if (matrix === undefined) throw new UsageError('which matrix? --matrix FILE, or a factor with one');
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
    try {
      return {
        ...(await measuredSides(
          asked,
          sides,
          { ...options, ...defined({ untilSure: smallest, minChange: smallest }) },
          io,
        )),
        reason: null,
      };
    } catch (error) {
      const isBroken = error instanceof BenchError && !(error instanceof InterruptedError) && !io.signal.aborted;
      if (!isBroken || (bad.length === names.length && !(error instanceof BrokenSubjectError))) throw error;
      return { pair: pairIds(asked, 1), compared: null, reason: error.lines[0] ?? error.name };
    }
  };
  const ends = await measured(names);
  const verdict = verdictOf(ends.compared);
  const steps: BisectOutput['steps'][number][] = [];
  const judged = (): JudgedFactors[] => steps.map((step) => ({ bad: step.candidate, verdict: step.verdict }));
  let next = searchFactors(names, judged());
  const half = Math.abs(evidenceOf(ends.compared)?.changePercent ?? 0) / 2;
  const isSearched = verdict === 'slower';
  for (; next.kind === 'test'; next = searchFactors(names, judged())) {
    if (!isSearched) break;
    const { candidate } = next;
    const { compared, pair, reason } = await measured(candidate, half);
    const found = VERDICTS[verdictOf(compared)];
    const evidence = evidenceOf(compared);
    steps.push({ candidate: [...candidate], subject: null, verdict: found, reason, evidence, sweepId: pair.head });
    io.err(`${found}: ${sideAt(candidate).text}\n`);
  }
  for (const made of ['engines', 'timing']) await rm(join(folder, made), { recursive: true, force: true });
  const evidence = (name: string) => {
    const step = steps.find(({ candidate }) => candidate.length === 1 && candidate[0] === name);
    return names.length === 1 ? evidenceOf(ends.compared) : (step?.evidence ?? null);
  };
  const found = isSearched && next.kind !== 'test' ? next : { kind: verdict, names: [] };
  const end = { ref: null, commit: git.commit, subject: null };
  return outputOf(settings, ends.compared, {
    kind: 'factors',
    status: found.kind === 'slower' ? 'range' : found.kind,
    good: { ...end, sweepId: ends.pair.base },
    bad: { ...end, sweepId: ends.pair.head },
    causes: found.names.map((name) => ({ name, subject: null, evidence: evidence(name) })),
    steps,
    notes: ends.reason === null ? [] : [ends.reason],
  });
}

function readText(path: string, shown: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${printable(shown)}: no such file, or it cannot be read`);
  }
}

/** The machine with these values of the factors. */
function factorSide(
  values: readonly FactorSetting[],
  { folder, request }: Settings,
  file: string,
  io: Io,
): Pick<TurnSide, 'beforeRun' | 'cacheFor' | 'plan'> {
  // No two factors set the same thing, except variables and commands.
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
      if (program === null) throw new UsageError('there is no trtexec');
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

/** A copy: the build writes into it. Null for the shared one. */
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
