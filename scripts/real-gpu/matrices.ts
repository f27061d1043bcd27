import type { Visit } from './visit.ts';

/** What a matrix of a visit may say differently. */
export interface MatrixOptions {
  readonly name: string;
  readonly models?: readonly string[];
  readonly precisions?: readonly ('fp16' | 'fp8' | 'int8' | 'int4')[];
  readonly batches?: readonly number[];
  readonly cudaGraph?: 'on' | 'off' | readonly ['on', 'off'];
  readonly durationS?: number;
  readonly warmUpMs?: number;
  readonly repeats?: number;
  readonly profile?: boolean;
  /** The batch that engines are tuned for. */
  readonly optBatch?: number;
  /** `--builderOptimizationLevel`; TensorRT's own is 3, which takes minutes to build. */
  readonly level?: number;
  /** What a model has of its own, by its name. */
  readonly changes?: Readonly<Record<string, ModelChange>>;
}

/** Another ONNX file, or another build, of one model: its cells stay the same cells. */
interface ModelChange {
  readonly onnx?: string;
  readonly build?: { readonly optimizationLevel: number };
}

/** The matrix as an object: YAML can be written as JSON. Inputs of a model are `input: [batch, ...]`. */
export function matrixOf(visit: Visit, options: MatrixOptions): unknown {
  const { name, models = ['resnet', 'vit'], precisions = ['fp16'], batches = [1], cudaGraph = 'on' } = options;
  const side = imageSide(visit);
  return {
    name,
    models: Object.fromEntries(
      models.map((model) => [
        model,
        {
          onnx: visit.model(model),
          shapes: { input: ['batch', 3, side, side] },
          precisions: Object.fromEntries(
            precisions.map((precision) => [
              precision,
              precision === 'fp16' ? 'flag' : { onnx: visit.model(`${model}_${precision}`) },
            ]),
          ),
          ...options.changes?.[model],
        },
      ]),
    ),
    axes: { precision: precisions, batch: batches, cudaGraph },
    build: {
      min: { batch: 1 },
      opt: { batch: options.optBatch ?? 8 },
      max: { batch: 32 },
      optimizationLevel: options.level ?? 1,
    },
    run: { warmUpMs: options.warmUpMs ?? 100, durationS: options.durationS ?? 0.3 },
    repeats: options.repeats ?? 2,
    profile: options.profile ?? false,
  };
}

/** Writes the matrix and gives the path of its file. */
export function writeMatrix(visit: Visit, options: MatrixOptions, file: string = options.name): string {
  return visit.file(`${file}.yaml`, matrixOf(visit, options));
}

/** 224 for the networks of that size, 32 for the tiny ones of test/fixtures. */
export function imageSide(visit: Visit): number {
  return visit.model('vit').includes('tiny') ? 32 : 224;
}
