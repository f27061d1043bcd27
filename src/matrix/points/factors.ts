import * as z from 'zod';

import { throwMistakes } from '../../errors.ts';
import type { Immutable } from '../../records/scalars.ts';
import { MistakeList, readSchema, readYaml } from '../yaml/yaml-source.ts';

function bothSides<Value extends z.ZodType>(value: Value) {
  return z.strictObject({ good: value, bad: value }).optional();
}

const path = z.string().min(1);
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** Settings of a factor on each side; others stay unchanged. */
const factorSchema = z.strictObject({
  trtexec: bothSides(path),
  matrix: bothSides(path),
  replay: bothSides(path),
  /** Null unsets a variable. */
  env: bothSides(z.record(z.string().regex(/^[^=\0]+$/), text.nullable())),
  /** Command before every build and run, as a list of words without a shell; empty for none. */
  before: bothSides(z.array(text)),
});

const factorsSchema = z.strictObject({ factors: z.record(z.string(), factorSchema) });

type FactorFile = Immutable<z.infer<typeof factorSchema>>;
type Side = 'good' | 'bad';

/** Settings of a factor on one side. */
export type FactorSetting = { readonly [Kind in keyof FactorFile]: NonNullable<FactorFile[Kind]>[Side] };

interface Factor {
  readonly name: string;
  readonly good: FactorSetting;
  readonly bad: FactorSetting;
}

interface FactorFiles {
  readonly cwd: string;
  readonly isThere: (path: string) => boolean;
}

const PATHS = ['trtexec', 'matrix'] as const;

/**
 * Reads a table of factors: `factors: {NAME: {trtexec: {good: PATH, bad: PATH}, env: {good: {A: x}, bad: {}}}}`. All
 * settings under one name switch together. Paths are relative to the folder of the file.
 * @param file path as the user gave it, for messages
 * @throws MatrixError with every mistake
 */
export function readFactors(file: string, content: string, files: FactorFiles): Factor[] {
  const root = readYaml(file, content);
  const table = readSchema(root, factorsSchema);
  const list = new MistakeList(root, files.cwd);
  const factors = Object.entries(table.factors).map(([name, factor]): Factor => {
    const settingOf = (side: Side): FactorSetting => {
      const all = Object.entries(factor).map(([kind, both]) => [kind, both?.[side]] as const);
      const paths = PATHS.flatMap((kind) => {
        const stated = factor[kind]?.[side];
        if (stated === undefined) return [];
        const at = ['factors', name, kind, side];
        const absolute = list.pathFrom(list.at(at), stated);
        if (!files.isThere(absolute)) list.add(at, `${name}.${kind}.${side}: ${stated}: file not found`);
        return [[kind, absolute] as const];
      });
      return Object.fromEntries([...all, ...paths]);
    };
    return { name, good: settingOf('good'), bad: settingOf('bad') };
  });
  addConflicts(factors, list);
  if (factors.length === 0) list.add(['factors'], 'factors: it is empty');
  throwMistakes(list.mistakes);
  return factors;
}

/** A factor must switch something, and no two factors may set the same key. */
function addConflicts(factors: readonly Factor[], list: MistakeList): void {
  const switchedBy = new Map<string, string>();
  for (const { name, good, bad } of factors) {
    const wrong = (problem: string): void => list.addAtKey(['factors', name], `${name}: ${problem}`);
    if (JSON.stringify(good) === JSON.stringify(bad)) wrong('good and bad are the same');
    const variables = [good.env, bad.env].flatMap((env) => Object.keys(env ?? {}));
    const kinds = Object.keys(good).filter((kind) => kind !== 'env' && kind !== 'before');
    for (const axis of new Set([...kinds, ...variables.map((variable) => `env.${variable}`)])) {
      const earlier = switchedBy.get(axis);
      if (earlier === undefined) switchedBy.set(axis, name);
      else wrong(`${axis} is already switched by ${earlier}`);
    }
  }
}
