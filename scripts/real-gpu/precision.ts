import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { execa } from 'execa';
import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { imageSide } from './matrices.ts';
import type { Visit } from './visit.ts';

const PRECISIONS = ['fp16', 'fp8', 'int8', 'int4'] as const;

/** Least SQNR of an engine's outputs against onnxruntime, in dB; the networks have random weights, inputs too. */
const LEAST_DB = { fp16: 40, fp8: 10, int8: 10, int4: 5 } as const;

interface Network {
  readonly model: string;
  readonly shape: readonly (number | string)[];
  readonly axes: Readonly<Record<string, readonly number[]>>;
  /** Shape of the inputs that `make-references.py` wrote. */
  readonly referenceShape: string;
  readonly plannedS: number;
}

function networksOf(visit: Visit): readonly Network[] {
  const side = imageSide(visit);
  const image = { shape: ['batch', 3, side, side], axes: { batch: [1, 8] }, referenceShape: '8x3x224x224' };
  return [
    {
      model: 'decoder',
      shape: ['batch', 'sequence', 512],
      axes: { batch: [2, 8], sequence: [32, 128] },
      referenceShape: '2x32x512',
      plannedS: 140,
    },
    { model: 'vit', ...image, plannedS: 130 },
    { model: 'resnet', ...image, plannedS: 75 },
  ];
}

/** Precisions for real: what runs in them, what the engines' own outputs are worth, which fusions are lost. */
export async function visitPrecision(visit: Visit): Promise<void> {
  for (const network of networksOf(visit)) {
    await visit.part(network.model, network.plannedS, () => checkNetwork(visit, network));
  }
  await visit.part('logs', 0, () => checkLogs(visit));
}

async function checkNetwork(visit: Visit, network: Network): Promise<void> {
  const precisions = PRECISIONS.filter((precision) => visit.place.models.has(`${network.model}_${precision}`));
  const matrix = visit.file(`${network.model}.yaml`, matrixOf(visit, network, precisions));
  await visit.run([matrix, '--profile']);
  for (const precision of precisions) {
    try {
      await checkShare(visit, network, precision);
      await checkOutputs(visit, network, precision);
    } catch (error) {
      visit.check(`${precision} can be looked at`, false, String(error));
    }
  }
}

function matrixOf(visit: Visit, { model, shape, axes }: Network, precisions: readonly string[]): unknown {
  const ends = (pick: (values: readonly number[]) => number) =>
    Object.fromEntries(Object.entries(axes).map(([axis, values]) => [axis, pick(values)]));
  return {
    name: model,
    models: {
      [model]: {
        onnx: visit.model(model),
        shapes: { input: shape },
        precisions: Object.fromEntries(
          precisions.map((precision) => [precision, { onnx: visit.model(`${model}_${precision}`) }]),
        ),
      },
    },
    axes: { precision: precisions, ...axes, cudaGraph: 'on' },
    build: {
      min: ends((values) => Math.min(...values)),
      opt: ends((values) => Math.max(...values)),
      max: ends((values) => Math.max(...values)),
      optimizationLevel: 1,
    },
    run: { warmUpMs: 100, durationS: 0.3 },
    repeats: 2,
  };
}

/** The share of the layers' time that really ran in the precision, and the layers that are not fused any more. */
async function checkShare(visit: Visit, { model, shape, axes }: Network, precision: string): Promise<void> {
  const largest = shape.map((size) => (typeof size === 'number' ? size : Math.max(...(axes[size] ?? [1]))));
  const profile = await visit.json(OUTPUTS.layers, ['layers', `${model} ${precision} ${largest.join('x')}`]);
  const shares = profile.summary.precisionShares.map(
    (each) => `${each.precision} ${(100 * each.share).toFixed(0)} % of the time`,
  );
  const { reformat, cast } = profile.summary.overheadMs;
  const moves = `reformats and casts ${(100 * ((reformat + cast) / (profile.totalMs ?? Number.NaN))).toFixed(1)} %`;
  const own = profile.summary.precisionShares.find((each) => each.precision === precision)?.share ?? 0;
  const figure = `${profile.summary.layers} layers; ${shares.join(', ')}; ${moves}`;
  // INT4 are weights only: what computes is in another precision.
  visit.check(`${precision} really runs`, precision === 'int4' ? null : own > 0.25, figure);
}

/** One inference of the engine on stored inputs, compared with what onnxruntime made of the same in FP32. */
async function checkOutputs(
  visit: Visit,
  { model, referenceShape }: Network,
  precision: (typeof PRECISIONS)[number],
): Promise<void> {
  const folder = dirname(visit.model(model));
  const [input, reference] = [join(folder, `${model}.input.bin`), join(folder, `${model}.reference.json`)];
  if (!existsSync(reference)) {
    visit.check(`${precision}: outputs`, null, `no ${model}.reference.json: see make-references.py`);
    return;
  }
  const [engine] = visit.rows(
    z.object({ argv: z.string() }),
    `SELECT invocations.argv AS argv FROM runs JOIN cells USING (cell_key) JOIN invocations USING (invocation_id)
       WHERE role = 'timed' AND cells.model = ? AND cells.precision = ? ORDER BY runs.started_at DESC LIMIT 1`,
    model,
    precision,
  );
  const load = z
    .array(z.string())
    .parse(JSON.parse(engine?.argv ?? '[]'))
    .find((arg) => arg.startsWith('--loadEngine='));
  const output = visit.file(`${model}-${precision}.json`, '');
  const args = [`--shapes=input:${referenceShape}`, `--loadInputs=input:${input}`, `--exportOutput=${output}`];
  await execa(visit.place.trtexec, [load ?? '', ...args, '--iterations=1', '--duration=0', '--warmUp=0'], {
    cwd: visit.place.folder,
    reject: false,
  });
  await checkAgainst(visit, reference, output, precision, "the engine's outputs are those of onnxruntime in FP32");
  const own = join(folder, `${model}_${precision}.reference.json`);
  if (existsSync(own)) await checkAgainst(visit, own, output, precision, 'the engine computes what its ONNX file says');
}

async function checkAgainst(
  visit: Visit,
  reference: string,
  output: string,
  precision: (typeof PRECISIONS)[number],
  name: string,
): Promise<void> {
  const { comparisons } = await visit.json(OUTPUTS.accuracy, ['model', 'accuracy', reference, output]);
  const [compared] = comparisons;
  const sqnrDb = compared?.kind === 'compared' ? compared.accuracy.sqnrDb : Number.NaN;
  visit.check(
    `${precision}: ${name}`,
    sqnrDb === null || sqnrDb >= LEAST_DB[precision],
    JSON.stringify(compared?.kind === 'compared' ? compared.accuracy : compared),
  );
}
