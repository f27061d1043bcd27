import { posix } from 'node:path';

import type { FoundModel } from '../matrix-draft.ts';
import type { OnnxFacts } from '../../../tools/onnx/facts.ts';
import { type Precision, PRECISIONS } from '../../../records/cell.ts';
import { isOneOf } from '../../../text/unknown-values.ts';

const { basename, dirname } = posix;

/** Files of one model: the base, and others that are named for their precision. */
export interface ModelGroup {
  readonly name: string;
  readonly base: FoundModel | null;
  readonly variants: readonly (readonly [Precision, FoundModel])[];
}

interface NamedFile {
  readonly model: FoundModel;
  readonly stem: string;
  readonly precision: Precision | null;
}

/** `vit.onnx`, `vit_fp16.onnx` and `vit-fp8.onnx` of one folder, with the same inputs, are one model. */
export function groupModels(models: readonly FoundModel[]): ModelGroup[] {
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

/** Names and shapes of the inputs; types may differ, as conversions change them. */
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
