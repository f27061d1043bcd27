import type { DraftModel, DraftPrecision, FoundModel, SkippedFile } from '../matrix-draft.ts';
import { opCountsText, type OnnxFacts } from '../../../tools/onnx/facts.ts';
import type { Precision } from '../../../records/cell.ts';
import { canRun, draftPrecisions, ownPrecision, type Possibilities } from './draft-precisions.ts';
import { draftShapes } from './draft-shapes.ts';
import { groupModels, type ModelGroup } from './group-models.ts';

export interface DraftedModels {
  readonly models: readonly DraftModel[];
  readonly skipped: readonly SkippedFile[];
}

/** What a matrix can say of the ONNX files that were found, on a machine that can do so much. */
export function draftModels(found: readonly FoundModel[], possibilities: Possibilities): DraftedModels {
  const models: DraftModel[] = [];
  const skipped: SkippedFile[] = [];
  for (const group of groupModels(found)) {
    const drafted = draftModel(group, possibilities);
    if ('problem' in drafted) skipped.push(drafted);
    else models.push(drafted);
  }
  return { models, skipped };
}

function draftModel({ name, base, variants }: ModelGroup, possibilities: Possibilities): DraftModel | SkippedFile {
  const first = base ?? variants[0]?.[1];
  if (first === undefined) throw new TypeError(`a model without files: ${name}`);
  const { facts, path } = first;
  const shapes = draftShapes(facts.inputs);
  if (typeof shapes === 'string') return { path, problem: shapes };
  const { version } = possibilities;
  const files = variants.flatMap(([precision, variant]) =>
    canRun(precision, version) ? [fileOf(precision, variant)] : [],
  );
  const own = base === null ? null : ownPrecision(base.facts);
  if (base !== null && own === null && files.length === 0) {
    return { path, problem: 'it is quantized to a type that no precision of a matrix stands for' };
  }
  const bySelf =
    own === null || !canRun(own, version) ? { chosen: [], others: [] } : draftPrecisions(own, possibilities);
  const isThere = new Set<Precision>(files.map(({ precision }) => precision));
  const precisions = [...bySelf.chosen.filter(({ precision }) => !isThere.has(precision)), ...files];
  if (precisions.length === 0) {
    const asked = [...(own === null ? [] : [own]), ...variants.map(([precision]) => precision)];
    return { path, problem: `this version of TensorRT cannot run ${asked.join(', ')}` };
  }
  return {
    name,
    onnx: base?.path ?? null,
    facts,
    ...shapes,
    precisions,
    others: bySelf.others.filter(({ precision }) => !isThere.has(precision)),
    remarks: remarksOn(facts),
    cudaGraph: facts.controlFlowOps.length === 0,
  };
}

function fileOf(precision: Precision, { path }: FoundModel): DraftPrecision {
  return { precision, source: { kind: 'file', path }, why: 'by its name' };
}

function remarksOn(facts: OnnxFacts): string[] {
  const { controlFlowOps, customOps, dataDependentOps, externalFiles, inputs } = facts;
  const lists = inputs.filter(
    ({ elementType, shape }) => /^int(?:32|64)$/.test(elementType) && (shape?.length ?? 2) <= 1,
  );
  const indices = inputs.filter(
    ({ elementType, shape }) => /^int(?:32|64)$/.test(elementType) && (shape?.length ?? 0) > 1,
  );
  const lost = externalFiles.filter(({ problem }) => problem !== null);
  return [
    ...(controlFlowOps.length === 0
      ? []
      : [`${opCountsText(controlFlowOps)}: the host decides in between, so no CUDA graph`]),
    ...(dataDependentOps.length === 0
      ? []
      : [
          `${opCountsText(dataDependentOps)}: how much work it is hangs on the values; give real inputs: {INPUT: FILE}`,
        ]),
    ...(customOps.length === 0
      ? []
      : [`${opCountsText(customOps)}: needs a plugin, build: {flags: {--dynamicPlugins: [FILE]}}`]),
    ...(lists.length === 0
      ? []
      : [
          `${lists.map(({ name }) => name).join(', ')}: if its values are a shape, write them here as if they were its dimensions`,
        ]),
    ...(indices.length === 0
      ? []
      : [
          `${indices.map(({ name }) => name).join(', ')}: random integers are from -128 to 127; if these are indices, give real ones, inputs: {INPUT: FILE}`,
        ]),
    ...lost.map(({ location, problem }) => `data file ${location}: ${problem}`),
  ];
}
