import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import * as z from 'zod';

import { hashModel } from '../../files/hashes.ts';
import type { Io } from '../../cli/io.ts';
import { ensure, UsageError } from '../../errors.ts';
import { type ChangedLayers, changeRows, diffLayers, type LayersDiff } from '../../layers/diff-layers.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { parseShapes, type Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import type { CellPoint } from '../../selection/cell-points.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { askHelper, pythonOf } from '../../tools/python/helper.ts';
import { findFlag, flagsOf, flagValue } from '../../trtexec/flags/flag-table.ts';
import { selectLayers } from '../layers/index.ts';
import type { ReproOptions } from './command.ts';
import type { Reduced, ReproOutput } from './output.ts';

/** The build of a bug report, or the good build to compare it with. */
export interface Side {
  readonly name: 'head' | 'base';
  readonly repro: ReproOutput;
  readonly engine: ProfiledEngine | null;
  /** Null for a build, which belongs to no single cell. */
  readonly point: CellPoint | null;
}

const REDUCTION = {
  script: 'reduce_model.py',
  needs: 'onnx',
  answer: z.object({
    nodesBefore: count,
    nodesAfter: count,
    nodesOfLayer: count,
    inputs: z.array(z.object({ name: z.string(), isDynamic: z.boolean(), shapes: z.array(z.array(count)) })),
    missing: z.array(z.string()),
  }),
};

type CutInputs = z.infer<typeof REDUCTION.answer>['inputs'];

const TIMEOUT_MS = 600_000;
const LIMITS = ['--minShapes', '--optShapes', '--maxShapes'];

/**
 * Cuts the changed layer with its neighbors out of the model, and gives the commands that build the cut like either
 * side.
 * @param name a layer, or part of the name of an ONNX node; of several matches, the one that changed most is taken
 * @throws UsageError when there is no such layer or model, or the model cannot be cut there
 */
export async function reduceModel(
  name: string,
  head: Side,
  base: Side | undefined,
  { around, model: named, python }: ReproOptions,
  io: Io,
) {
  if (!head.point || !base?.point || head.point.cell.key !== base.point.cell.key) {
    throw new UsageError('--reduce compares two builds of one cell: name another sweep, commit or run with --base');
  }
  if (head.engine === null || base.engine === null) {
    throw new UsageError('--reduce: layer times of both builds are needed; `bench run --profile` records them');
  }
  const diff = diffLayers(layerFactsOf(base.engine.layers), layerFactsOf(head.engine.layers));
  const found = partsNamed(diff, name);
  const [part] = found;
  ensure(part !== undefined, `--reduce ${name}: neither build has this layer or ONNX node`);
  const path = modelPath(head.repro, named, io);
  const { shapes: run } = head.point.cell;
  const shapes = [run, ...limitsOf(head.repro, run), ...limitsOf(base.repro, run)];
  const job = { model: path, layers: diff.parts.map(originsOf), wanted: diff.parts.indexOf(part), around, shapes };
  const context = { cwd: io.cwd, env: io.env, spawn: io.spawn, signal: io.signal, timeoutMs: TIMEOUT_MS };
  const { answer, model } = await inTemporaryFolder('reduce', async (folder) => {
    const output = join(folder, 'model.onnx');
    const read = await askHelper(REDUCTION, pythonOf(python, io.env), { ...job, output }, folder, context);
    if ('problem' in read) throw new UsageError(`--reduce ${name}: ${read.problem}`);
    return { answer: read, model: readFileSync(output) };
  });
  const { inputs, missing, ...nodes } = answer;
  const { conversion, model: built } = head.repro;
  const sha256 = conversion === null ? built?.sha256 : conversion.record?.sha256;
  const gone = originsOf(part).filter((origin) => missing.includes(origin));
  const output: Reduced = {
    ...nodes,
    layer: changeRows({ ...diff, parts: [part] }).rows[0]?.label ?? layersOf(part)[0]?.name ?? '',
    change: part.change,
    deltaMs: part.deltaMs,
    matching: found.length,
    around,
    commands: {
      base: shellLine(trtexecLine(base.repro, inputs, 1 + LIMITS.length)),
      head: shellLine(trtexecLine(head.repro, inputs, 1)),
    },
    notes: [
      ...((await hashModel(path)) === sha256 ? [] : ['the model may differ from the built one']),
      ...(gone.length === 0 ? [] : [`not in the model, so not in the reduced one: ${gone.join(', ')}`]),
    ],
  };
  return { output, model };
}

/** Parts with a layer of exactly this name, else those that the name selects. The largest change comes first. */
function partsNamed({ parts }: LayersDiff, name: string): readonly ChangedLayers[] {
  const exact = parts.filter((part) => layersOf(part).some((layer) => [layer.name, layer.stableName].includes(name)));
  const found = exact.length > 0 ? exact : parts.filter((part) => selectLayers(layersOf(part), name, false).length > 0);
  return found.toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs));
}

function layersOf({ base, head }: ChangedLayers) {
  return [...base, ...head];
}

function originsOf(part: ChangedLayers): string[] {
  return [...new Set(layersOf(part).flatMap(({ origins }) => origins))];
}

function modelPath({ build, conversion, model }: ReproOutput, named: string | undefined, io: Io): string {
  const built = flagValue(build?.argv ?? [], '--onnx') ?? (conversion === null ? model?.path : null);
  const path = named ?? built ?? 'the model of the build';
  const place = resolve(io.cwd, path);
  if (existsSync(place)) return place;
  throw new UsageError(`${path}: model not found: name the ONNX file that was built, --model FILE`);
}

/** The min, opt and max shapes of the engine. @param run shapes of the run, used if the others are unknown */
function limitsOf({ build }: ReproOutput, run: Shapes): Shapes[] {
  const flags = flagsOf(build?.argv ?? []);
  const known = LIMITS.map((flag) => parseShapes(flags.get(flag) ?? '')).filter((shapes) => shapes !== null);
  return known.length < LIMITS.length ? LIMITS.map(() => run) : known;
}

/** Flags that the command of the cut sets itself. */
const REPLACED =
  '--onnx --saveEngine --loadEngine --timingCacheFile --skipInference --buildOnly --verbose --minShapes --optShapes --maxShapes --shapes --dumpProfile --separateProfileRun --profilingVerbosity --loadInputs'.split(
    ' ',
  );

/**
 * One command that builds and profiles the cut like one side, without bench.
 * @param limits index of the min shape of this side among the shapes of an input; opt and max follow
 */
function trtexecLine({ build, run }: ReproOutput, inputs: CutInputs, limits: number): string[] {
  const flags = [...flagsOf([...(build?.argv ?? []), ...(run?.argv ?? [])])].filter(
    ([flag]) => !REPLACED.includes(flag) && !flag.startsWith('--export') && findFlag(flag)?.isPath === false,
  );
  const shapesAt = (option: string, place: number) =>
    `${option}=${inputs.map(({ name, shapes }) => `${name}:${shapes[place]?.join('x')}`).join(',')}`;
  const ranges = [...LIMITS.map((option, place) => shapesAt(option, limits + place)), shapesAt('--shapes', 0)];
  return [
    'trtexec',
    '--onnx=reduced/model.onnx',
    ...(inputs.some(({ isDynamic }) => isDynamic) ? ranges : []),
    ...flags.map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`)),
    '--profilingVerbosity=detailed',
    '--dumpProfile',
    '--separateProfileRun',
  ];
}
