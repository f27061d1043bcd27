import { lockOf } from '../../machine/requests.ts';
import { type KeyedCell, noiseKindOf } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { type MetricId, gateMetric, isOfBuild, isOverlapping, metricOf } from '../../records/metric.ts';
import { failureSentences, FLAG_LABELS, type RunFlag, isIneligible } from '../../records/outcome.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { Provenance } from '../../records/sweep.ts';
import type { Verdict } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { boundReasons } from '../bound.ts';
import { type CellSweeps, clockOf } from '../gate/fit-runs.ts';
import { isSteady, marginBetween } from '../gate/metric-changes.ts';
import { directionOf } from '../history/lasting-changes.ts';
import { pastValues } from '../run-noise.ts';
import { CLOCK_LEVEL, clockLevelMhz, clockOffLevel, leftOutFor, systematicErrorOf } from '../run-trust.ts';
import { valueRule } from '../value-rule.ts';
import type { TwoSides } from './compare-cells.ts';
import { type Across, type ComparedBuild, differencesOf, obstacleOf } from './differences.ts';

export interface ComparedSide {
  readonly runs: readonly CellRun[];
  readonly planned: ReadonlySet<string>;
  readonly provenances: ReadonlySet<Provenance>;
}

interface Facts {
  readonly environments: ReadonlyMap<string, Environment>;
  readonly builds: ReadonlyMap<string, ComparedBuild>;
  /** Earlier sweeps by cell key. */
  readonly past: ReadonlyMap<string, CellSweeps>;
}

export type AssembledCell = ReturnType<typeof assembleSides>[number];

/**
 * The two sides of each cell. `settled`: the verdict where nothing can be compared. `across`: allowed differences.
 * `metrics`: by cell measured by two methods, each with its own TensorRT.
 */
export function assembleSides(
  cells: readonly KeyedCell[],
  base: ComparedSide,
  head: ComparedSide,
  requested: MetricId | null,
  across: Across,
  facts: Facts,
  metrics: ReadonlyMap<string, MetricId> = new Map(),
) {
  const baseRuns = Map.groupBy(base.runs, ({ cellKey }) => cellKey);
  const headRuns = Map.groupBy(head.runs, ({ cellKey }) => cellKey);
  const [was, is] = [base, head].map(({ provenances }) => [...provenances].toSorted().join(', '));
  const differ = ['acrossProvenance', `base is ${was}, head is ${is}`] as const;
  const provenance = was === is || across.acrossProvenance ? [] : [differ];
  return cells.map((cell) => {
    const metric = metrics.get(cell.key) ?? gateMetric(requested, cell);
    const [ofBase, ofHead] = [baseRuns.get(cell.key) ?? [], headRuns.get(cell.key) ?? []];
    const valueOf = valueRule([...ofBase, ...ofHead].filter(isMeasured), metric);
    const past = facts.past.get(cell.key);
    const baseSweeps = [...Map.groupBy(ofBase, ({ sweepId }) => sweepId).values()];
    // With too few sweeps, the runs of the base alone have a level.
    const clocks = [...(past?.history.clock ?? []).slice(-CLOCK_LEVEL.neighborSweeps), ...baseSweeps.map(clockOf)];
    const locks = [ofBase, ofHead].map((runs) => facts.environments.get(runs.at(-1)?.environmentId ?? '')?.clockPolicy);
    const isSameLock = lockOf(locks[0] ?? null) === lockOf(locks[1] ?? null);
    const levelMhz = isSameLock ? (clockLevelMhz(clocks) ?? clockLevelMhz(ofBase.map((run) => run.smClockMhz))) : null;
    const a = sideOf('base', ofBase, metric, valueOf, levelMhz, facts);
    const b = sideOf('head', ofHead, metric, valueOf, levelMhz, facts);
    const allowed = metrics.has(cell.key) ? { ...across, acrossTensorrt: true } : across;
    const { machine, build, open, overridden } = differencesOf(a, b, allowed);
    const differing = [...a.notes, ...b.notes, ...machine, ...build];
    const { betterIs } = metricOf(metric);
    const sides: TwoSides = {
      cellKey: cell.key,
      base: a.values,
      head: b.values,
      betterIs,
      systematicError: Math.hypot(a.systematicError, b.systematicError),
      kind: noiseKindOf(cell),
      past: past === undefined ? [] : pastValues(past, a.values),
      machine,
    };
    const settle = (settled: Verdict | null, why: readonly string[], allowedIn: readonly string[] = []) => {
      return { cell, metric, sides, settled, reasons: [...why, ...differing], across: allowedIn };
    };
    if (!base.planned.has(cell.key) && ofBase.length === 0) return settle('missing', ['only in head']);
    if (!head.planned.has(cell.key) && ofHead.length === 0) return settle('missing', ['only in base']);
    if (a.values.length === 0 || b.values.length === 0) {
      const isAsked = requested !== null && [a, b].every(({ lacksMetric, values }) => lacksMetric || values.length > 0);
      const isIncomparable = isAsked || a.isIneligible || b.isIneligible;
      return settle(isIncomparable ? 'incomparable' : 'failed', [...a.failures, ...b.failures]);
    }
    const obstacle = obstacleOf([...provenance, ...open]);
    if (obstacle !== null) return settle('incomparable', [obstacle]);
    if (isOverlapping(cell, metric)) return settle('unclear', ['the times of several streams overlap'], overridden);
    if (isSteady(metric)) {
      const [before = 0, after = 0] = [a, b].map(({ values }) => median(values) ?? 0);
      const isSame = marginBetween(metric, before, after) <= 1;
      return settle(isSame ? 'same' : directionOf(after - before, betterIs), [], overridden);
    }
    return settle(null, [...flagReasons(a.runs, b.runs), ...boundReasons(a.runs, b.runs)], overridden);
  });
}

export function sideOf(
  name: string,
  runs: readonly CellRun[],
  metric: MetricId,
  valueOf: (run: CellRun) => number | null,
  levelMhz: number | null = null,
  facts: Pick<Facts, 'builds' | 'environments'> = { environments: new Map(), builds: new Map() },
) {
  const timed = runs.filter(({ role }) => role === 'timed');
  const flags: RunFlag[] = [];
  const kept = timed.filter((run) => {
    const off = clockOffLevel(run, levelMhz);
    const flag = leftOutFor(off === null ? run.flags : [...run.flags, off], metric);
    if (flag !== null) flags.push(flag);
    return flag === null && run.outcome.kind === 'measured';
  });
  const leftOut = [...Map.groupBy(flags, ({ id }) => id)].map(
    ([id, same]) => `${same.length} of ${timed.length} runs left out, ${FLAG_LABELS[id]}: ${same[0]?.evidence ?? ''}`,
  );
  const madeOn = (run: CellRun | undefined) => ({
    environment: facts.environments.get(run?.environmentId ?? '') ?? null,
    build: facts.builds.get(run?.buildId ?? '') ?? null,
  });
  // Runs of one side are pooled if their engines have the same options and their machines are of the same kind.
  const poolOf = (run: CellRun | undefined): string => {
    const { build, environment } = madeOn(run);
    const lock = lockOf(environment?.clockPolicy ?? null);
    return JSON.stringify([environment?.gpuName, environment?.tensorrt, lock, build?.modelSha256, build?.flags]);
  };
  const newest = kept.at(-1);
  const pool = poolOf(newest);
  const comparable = kept.filter((run) => poolOf(run) === pool);
  const valued = comparable.filter((run) => valueOf(run) !== null);
  const byBuild = Map.groupBy(valued, ({ buildId }) => buildId);
  const units = isOfBuild(metric) ? [...byBuild.values()].flatMap(([first]) => first ?? []) : valued;
  const left = kept.length - comparable.length;
  const notes = [...leftOut, ...(left === 0 ? [] : [`${left} runs with another build or environment left out`])];
  const lacksMetric = comparable.length > 0 && units.length === 0;
  const others = timed.map(({ outcome }) => outcome).filter(({ kind }) => kind !== 'measured');
  const why = [...failureSentences(others), ...(others.some(({ kind }) => kind === 'built') ? ['built'] : [])];
  const isProfiled = runs.some(({ role }) => role === 'profile');
  const profiled = 'only runs that were timed with a profiler attached, whose times do not count';
  const none = isProfiled ? profiled : notes.length === 0 ? 'no run' : 'no valid run';
  const failures = lacksMetric ? [`its runs have no ${metricOf(metric).label}`] : why.length === 0 ? [none] : why;
  const named = (text: string): string => `${name}: ${text}`;
  return {
    ...madeOn(newest),
    isIneligible: kept.length === 0 && timed.some((run) => isIneligible(run.flags)),
    lacksMetric,
    runs: units,
    values: units.flatMap((run) => valueOf(run) ?? []),
    failures: units.length > 0 ? [] : failures.map(named),
    /** Standard deviation on the log scale. */
    systematicError: median(kept.map((run) => systematicErrorOf(run.flags, metric))) ?? 0,
    notes: notes.map(named),
  };
}

export function flagReasons(base: readonly Pick<CellRun, 'flags'>[], head: typeof base): string[] {
  const all = Object.entries({ base, head }).flatMap(([side, runs]) => {
    const ofSide = runs.flatMap(({ flags }) => flags);
    const byId = [...Map.groupBy(ofSide, ({ id }) => id)];
    return byId.map(([id, flags]) => ({ id, flags, of: `${flags.length} of ${runs.length} runs of ${side}` }));
  });
  return [...Map.groupBy(all, ({ id }) => id)].flatMap(([id, having]) => {
    const isDoubted = having.some(({ flags }) => flags.some(({ effect }) => effect === 'widened'));
    const doubt = isDoubted ? ', trusted less' : '';
    if (id === 'bimodal')
      return having.map(({ flags, of }) => `two levels inside runs${doubt}: ${flags[0]?.evidence ?? ''} (${of})`);
    if (having.length > 1 && !isDoubted) return [];
    return [`${FLAG_LABELS[id]}${doubt}: ${having.map(({ of }) => of).join(', ')}`];
  });
}
