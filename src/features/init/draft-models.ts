import type { DraftModel, DraftPrecision, FoundModel, SkippedFile } from './matrix-draft.ts';
import { opCountsText, type OnnxFacts } from '../../tools/onnx/facts.ts';
import { type Precision, PRECISIONS } from '../../records/cell.ts';
import { canRun, draftPrecisions, ownPrecision, type Possibilities } from './draft-precisions.ts';
import { draftShapes } from './draft-shapes.ts';
import { posix } from 'node:path';
import { isOneOf } from '../../text/unknown-values.ts';

export function draftModels(found: readonly FoundModel[], possibilities: Possibilities) {
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
    return { path, problem: 'it is quantized to a type that no precision of a matrix represents' };
  }
  const bySelf =
    own === null || !canRun(own, version) ? { chosen: [], others: [] } : draftPrecisions(own, possibilities);
  const isThere = new Set<Precision>(files.map(({ precision }) => precision));
  const precisions = [...bySelf.chosen.filter(({ precision }) => !isThere.has(precision)), ...files];
  if (precisions.length === 0) {
    const needed = [...(own === null ? [] : [own]), ...variants.map(([precision]) => precision)];
    return { path, problem: `this version of TensorRT cannot run ${needed.join(', ')}` };
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
  const integers = inputs.filter(({ elementType }) => /^int(?:32|64)$/.test(elementType));
  const [lists = '', indices = ''] = [
    integers.filter(({ shape }) => (shape?.length ?? 2) <= 1),
    integers.filter(({ shape }) => (shape?.length ?? 0) > 1),
  ].map((tensors) => tensors.map(({ name }) => name).join(', '));
  const lost = externalFiles.filter(({ problem }) => problem !== null);
  return [
    controlFlowOps.length > 0 && `${opCountsText(controlFlowOps)}: the host decides in between, so no CUDA graph`,
    dataDependentOps.length > 0 &&
      `${opCountsText(dataDependentOps)}: how much work it is hangs on the values; give real inputs: {INPUT: FILE}`,
    customOps.length > 0 && `${opCountsText(customOps)}: needs a plugin, build: {flags: {--dynamicPlugins: [FILE]}}`,
    lists !== '' && `${lists}: if its values are a shape, write them here as if they were its dimensions`,
    indices !== '' &&
      `${indices}: random integers are from -128 to 127; if these are indices, give real ones, inputs: {INPUT: FILE}`,
    ...lost.map(({ location, problem }) => `data file ${location}: ${problem}`),
  ].filter((remark) => remark !== false);
}

const { basename, dirname } = posix;

interface ModelGroup {
  readonly name: string;
  readonly base: FoundModel | null;
  readonly variants: readonly (readonly [Precision, FoundModel])[];
}

interface NamedFile {
  readonly model: FoundModel;
  readonly stem: string;
  readonly precision: Precision | null;
}

/** `vit.onnx`, `vit_fp16.onnx` and `vit-fp8.onnx` of one folder, with equal inputs, are one model. */
function groupModels(models: readonly FoundModel[]): ModelGroup[] {
  const byStem = new Map<string, NamedFile[]>();
  for (const model of models) {
    const named = readName(model);
    const key = `${dirname(model.path)}/${named.stem}`;
    byStem.set(key, [...(byStem.get(key) ?? []), named]);
  }
  const groups = [...byStem.values()].flatMap(groupsOf);
  const used = new Set<string>();
  return groups.map((group) => ({ ...group, name: freeName(group, used) }));
}

function readName(model: FoundModel): NamedFile {
  const whole = basename(model.path).replace(/\.onnx$/i, '');
  const [, stem = '', word = ''] = /^(.+)[_.-]([a-z]+\d+)$/i.exec(whole) ?? [];
  const precision = word.toLowerCase();
  return isOneOf(PRECISIONS, precision) ? { model, stem, precision } : { model, stem: whole, precision: null };
}

function groupsOf(files: readonly NamedFile[]): ModelGroup[] {
  const base = files.find(({ precision }) => precision === null) ?? null;
  const first = base ?? files[0];
  if (first === undefined) return [];
  const fits = (file: NamedFile): boolean => interfaceOf(file.model.facts) === interfaceOf(first.model.facts);
  const precisions = new Set<Precision>();
  const variants: [Precision, FoundModel][] = [];
  const alone: ModelGroup[] = [];
  for (const file of files) {
    if (file === base) continue;
    if (file.precision !== null && fits(file) && !precisions.has(file.precision)) {
      precisions.add(file.precision);
      variants.push([file.precision, file.model]);
    } else {
      const name = basename(file.model.path).replace(/\.onnx$/i, '');
      alone.push({ name, base: file.model, variants: [] });
    }
  }
  return [{ name: first.stem, base: base?.model ?? null, variants }, ...alone];
}

/** Without types, as conversions change them. */
function interfaceOf({ inputs }: OnnxFacts): string {
  return JSON.stringify(inputs.map(({ name, shape }) => [name, shape]));
}

function freeName({ name, base, variants }: ModelGroup, used: Set<string>): string {
  const plain = name.trim() === '' ? 'model' : name.trim();
  const path = base?.path ?? variants[0]?.[1].path ?? '';
  const folder = basename(dirname(path));
  let free = plain;
  if (used.has(free) && /\w/.test(folder)) free = `${folder.trim()}_${plain}`;
  for (let number = 2; used.has(free); number += 1) free = `${plain}_${number}`;
  used.add(free);
  return free;
}
