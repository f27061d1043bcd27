import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { environmentDifferences } from '../../judge/compare/differences.ts';
import { type ChangeRow, changeRows, diffLayers, type LayersDiff } from '../../layers/diff-layers.ts';
import { type LayerFacts, layerFactsOf } from '../../layers/layer-facts.ts';
import { type EngineConditions, overheadOf, type ProfiledEngine } from '../../layers/profiled-engine.ts';
import { groupLayers, precisionIslands, summarizeLayers, unalignedLayers } from '../../layers/summarize-layers.ts';
import { engineEfficiency } from '../../layers/work/efficiency.ts';
import { isPath } from '../../selection/by-name.ts';
import { profiledPath } from '../../selection/runs-of-paths.ts';
import { profiledAt, resolvePoints, profiledPoint, runByPrefix } from '../../selection/cell-points.ts';
import { efficiencyReader, namedModel, UNNAMED_MODEL } from '../../selection/engine-efficiency.ts';
import { statedCircumstances, storedCircumstances } from '../../selection/engine-efficiency.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { layerRun } from '../../store/runs/layer-runs.ts';
import { sweepEnvironments } from '../../store/sweeps/environments.ts';
import { printable } from '../../text/printable.ts';
import type { LayersOptions } from './command.ts';
import { layersDiffText } from './diff-text.ts';
import { selectLayers } from './layer-kernels.ts';
import type { LayersDiffOutput, LayersOutput } from './output.ts';
import { layersText } from './text.ts';
import { sumMs } from '../../layers/real-precision.ts';

export async function listLayers(name: string | undefined, options: LayersOptions, io: Io): Promise<ExitCode> {
  const { agg, diff, groupBy, kernels, regex, select } = options;
  const sums = groupBy !== undefined || agg === true;
  ensure(regex !== true || select !== undefined, "--regex needs --select: --select 'blocks\\.\\d+' --regex");
  if (kernels !== undefined) {
    ensure(diff === undefined && !sums, '--kernels shows layers one by one: leave --diff, --group-by, --agg out');
    return (await import('./layer-kernels.ts')).showKernels(name, kernels, options, io);
  }
  ensure(agg !== true || groupBy === undefined, '--agg sums all chosen layers up: leave --group-by out');
  const isWhole = diff === undefined || (!sums && select === undefined && options.sort === 'time');
  ensure(isWhole, '--diff matches all layers, by the time that changed: leave --select, --group-by, --agg, --sort out');
  if (diff === undefined) return showLayers(name, options, io);
  const [a, b, ...more] = diff;
  const order = 'after the cell: bench layers CELL --diff BASE HEAD, or two folders';
  ensure(a !== undefined && b !== undefined && more.length === 0, `--diff takes two sides, ${order}`);
  return showDiff(name, [a, b], options, io);
}

async function showLayers(name: string | undefined, options: LayersOptions, io: Io): Promise<ExitCode> {
  ensure(name !== undefined, 'name a cell, a run, or a folder with profile.json: bench layers CELL');
  const model = options.onnx === undefined ? null : await namedModel(options.onnx, io.cwd);
  const stored = isPath(name, io)
    ? null
    : await withStore(options, io, async ({ db }) => {
        const runId = runByPrefix(db, name);
        const ofCell = runId === null ? await profiledAt(db, name, options.at, io) : null;
        const engine = required(runId === null ? (ofCell?.engine ?? null) : profiledRun(db, runId, name), name);
        return { found: engine, known: await storedCircumstances(db, engine, ofCell?.cell ?? null, model) };
      });
  const found = stored?.found ?? required(await profiledPath(name, io, options.runs), name);
  const known = stored?.known ?? statedCircumstances(found, model);
  if (found.layers.length === 0) throw new UsageError(`${printable(name)}: it lists no layers`);
  const all = layerFactsOf(found.layers);
  const chosen = selectLayers(all, options.select, options.regex === true).toSorted(ORDERS[options.sort]);
  if (chosen.length === 0) {
    throw new UsageError(
      `--select ${printable(options.select ?? '')}: none of the ${all.length} layers; bench searches names, ONNX nodes, types and tactics`,
    );
  }
  const profiledMs = found.iterations === null ? null : (found.total?.averageMs ?? sumMs(all));
  const efficiencyOf = await efficiencyReader([known], io);
  const efficiency = efficiencyOf(all, known, found.gpuComputeMs ?? profiledMs);
  const ofLayer = new Map(all.map((layer, place) => [layer, efficiency.layers?.[place] ?? null]));
  const rated = chosen.map((layer) => ({ ...layer, efficiency: ofLayer.get(layer) ?? null }));
  const output = layersOutput(found, all, rated, efficiency.engine, known.conditions, options);
  const top = options.all === true ? Infinity : options.top;
  const details = { islands: precisionIslands(all), unaligned: unalignedLayers(all), top };
  return printResult(io, options, output, (_, look) => layersText(output, details, look));
}

async function showDiff(name: string | undefined, refs: readonly [string, string], options: LayersOptions, io: Io) {
  const sides = refs.every((ref) => isPath(ref, io))
    ? [await profiledPath(refs[0], io, options.runs), await profiledPath(refs[1], io, options.runs)]
    : await withStore(options, io, async ({ db }) => {
        // Builds belong to no cell.
        const runIds = name === undefined ? refs.flatMap((ref) => runByPrefix(db, ref) ?? []) : [];
        const [was, is] = runIds.filter((runId) => layerRun(db, runId) !== null);
        if (was !== undefined && is !== undefined)
          return withMachineNote(db, profiledRun(db, was, refs[0]), profiledRun(db, is, refs[1]));
        const { base, head } = await resolvePoints(db, name ?? null, refs, io);
        return withMachineNote(db, profiledPoint(db, base), profiledPoint(db, head));
      });
  const [base, head] = [required(sides[0] ?? null, refs[0]), required(sides[1] ?? null, refs[1])];
  const one = `both sides are the layers of run ${base.runId.slice(0, 8)}`;
  ensure(base.runId !== head.runId, `${one}: name two, or profile the other side (bench run --profile)`);
  const facts = [layerFactsOf(base.layers), layerFactsOf(head.layers)] as const;
  const diff = diffLayers(...facts);
  const output = layersDiffOutput(base, withGraphNote(head, base), diff);
  const top = options.all === true ? Infinity : options.top;
  return printResult(io, options, output, (_, look) => layersDiffText(output, top, look));
}

/** Notes what differs between the machines of two stored profiles, such as the GPU. */
function withMachineNote(db: StoreDatabase, base: ProfiledEngine | null, head: ProfiledEngine | null) {
  const [was, is] = [base, head].map((side) => sweepEnvironments(db, side?.sweepId ?? '')[0]);
  const differing = was && is ? environmentDifferences(was, is) : [];
  return [base, head && differing.length > 0 ? { ...head, notes: [...head.notes, differing.join('; ')] } : head];
}

/** Notes that a profile without a CUDA graph includes the gaps between launches in its times. */
export function withGraphNote(head: ProfiledEngine, base: ProfiledEngine): ProfiledEngine {
  if (head.cudaGraph === null || base.cudaGraph === null || head.cudaGraph === base.cudaGraph) return head;
  const side = head.cudaGraph ? 'head' : 'base';
  const note = `only the ${side} was launched as a CUDA graph: launches may cause part of the change`;
  return { ...head, notes: [...head.notes, note] };
}

function required(engine: ProfiledEngine | null, ref: string): ProfiledEngine {
  if (engine !== null) return engine;
  throw new UsageError(`${ref}: no layer times are stored; \`bench run --profile\` records them in a run of its own`);
}

const ORDERS = {
  time: (a: LayerFacts, b: LayerFacts) => b.averageMs - a.averageMs || a.index - b.index,
  index: (a: LayerFacts, b: LayerFacts) => a.index - b.index,
  name: (a: LayerFacts, b: LayerFacts) => (a.name < b.name ? -1 : 1),
} as const;

/** All layers of an engine, as `bench layers --json` prints them. */
export function layerTable(engine: ProfiledEngine): LayersOutput {
  const all = layerFactsOf(engine.layers);
  const { conditions } = statedCircumstances(engine, null);
  const { engine: efficiency } = engineEfficiency(all, UNNAMED_MODEL, conditions, null);
  const rated = all.map((layer) => ({ ...layer, efficiency: null }));
  return layersOutput(engine, all, rated, efficiency, conditions, { depth: 1 });
}

/** @param layers the chosen layers, in the requested order */
function layersOutput(
  engine: ProfiledEngine,
  all: readonly LayerFacts[],
  layers: LayersOutput['layers'],
  efficiency: LayersOutput['efficiency'],
  { computeCapability }: EngineConditions,
  { agg, depth, groupBy }: Pick<LayersOptions, 'agg' | 'depth' | 'groupBy'>,
): LayersOutput {
  const summary = summarizeLayers(all, engine.total?.averageMs, computeCapability);
  const isTimed = engine.iterations !== null;
  const totalMs = sumMs(layers);
  const sharePercent = summary.totalMs > 0 ? (totalMs / summary.totalMs) * 100 : null;
  const together = isTimed ? { totalMs, sharePercent, ...spread(layers) } : NO_TIMES;
  const groups = groupBy === undefined ? undefined : groupLayers(layers, groupBy, depth);
  const grouped = groups?.map((group) => {
    return { ...group, layers: group.layers.map(({ index }) => index), ...spread(group.layers) };
  });
  return {
    schemaVersion: 1,
    ...engineOutput(engine),
    totalMs: isTimed ? summary.totalMs : null,
    ...overheadOf(engine),
    summary,
    layers,
    efficiency,
    aggregate: agg === true ? { layers: layers.length, ...together } : null,
    groups: grouped ?? null,
  };
}

const NO_TIMES = { totalMs: null, sharePercent: null, minMs: null, meanMs: null, maxMs: null };

function spread(layers: readonly LayerFacts[]) {
  const times = layers.map(({ averageMs }) => averageMs);
  return { minMs: Math.min(...times), meanMs: sumMs(layers) / layers.length, maxMs: Math.max(0, ...times) };
}

function engineOutput(engine: ProfiledEngine) {
  const { ref, runId, sweepId, cellLabel, provenance, startedAt, iterations, gpuComputeMs, notes } = engine;
  return { ref, runId, sweepId, label: cellLabel, provenance, startedAt, iterations, gpuComputeMs, notes };
}

function layersDiffOutput(base: ProfiledEngine, head: ProfiledEngine, diff: LayersDiff): LayersDiffOutput {
  const isTimed = base.iterations !== null && head.iterations !== null;
  const side = (engine: ProfiledEngine): LayersDiffOutput['base'] => {
    const listed = layerFactsOf(engine.layers);
    const listedMs = isTimed ? sumMs(listed) : null;
    const totalMs = listedMs === null ? null : (engine.total?.averageMs ?? listedMs);
    const { opaqueShare } = summarizeLayers(listed, engine.total?.averageMs);
    return { ...engineOutput(engine), layers: engine.layers.length, totalMs, listedMs, opaqueShare };
  };
  const times = ({ baseMs, headMs, deltaMs }: Pick<ChangeRow, 'baseMs' | 'headMs' | 'deltaMs'>) =>
    isTimed ? { baseMs, headMs, deltaMs } : { baseMs: null, headMs: null, deltaMs: null };
  const row = (changed: ChangeRow): LayersDiffOutput['rows'][number] => ({
    ...changed,
    ...times(changed),
    parts: changed.parts.map((part) => ({
      base: part.base.map(({ name }) => name),
      head: part.head.map(({ name }) => name),
      baseKernels: part.base.map(({ tactic }) => tactic),
      headKernels: part.head.map(({ tactic }) => tactic),
      ...times(part),
    })),
  });
  const { rows, unknown, unchanged, unattributed } = changeRows(diff);
  return {
    schemaVersion: 1,
    base: side(base),
    head: side(head),
    deltaMs: isTimed && base.total === undefined && head.total === undefined ? diff.deltaMs : null,
    commonPercent: diff.commonPercent,
    rows: rows.map(row),
    unknown: unknown && row(unknown),
    unchanged: unchanged && row(unchanged),
    unattributed: unattributed && row(unattributed),
  };
}
