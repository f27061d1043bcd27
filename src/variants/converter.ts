import { dirname, join, resolve } from 'node:path';

import { VariantCache } from './variant-cache.ts';
import { EnvironmentLackingError } from '../errors.ts';
import { modeloptInstall, readPythonVersions } from '../tools/modelopt/packages.ts';
import type { Plan } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import type { SweepEvent } from '../run/sweep-context.ts';
import type { ConverterPython, VariantContext } from './variants.ts';
import { type HelperContext, pythonFacts } from '../tools/python/helper.ts';
import { problemOf } from '../process/ask.ts';

type ConverterIo = Omit<HelperContext, 'timeoutMs'>;

const PATIENCE_MS = 30_000;

export async function converterFor(
  { variants }: Pick<Plan, 'variants'>,
  stated: string | null,
  io: ConverterIo,
): Promise<ConverterPython | null> {
  return variants.length === 0 ? null : findConverter(stated, io);
}

/**
 * The Python that makes variants, with its package versions: `--python`, `$BENCH_PYTHON`, `python3`.
 * @throws EnvironmentLackingError if it lacks something, with the command that installs it
 */
export async function findConverter(stated: string | null, io: ConverterIo): Promise<ConverterPython> {
  const named = stated ?? (io.env['BENCH_PYTHON'] || 'python3');
  // Made absolute, because it is started in another folder.
  const path = named.includes('/') ? resolve(io.cwd, named) : named;
  const { answer, interpreter } = await pythonFacts(io.env, PATIENCE_MS, path);
  const name = printable(interpreter);
  const other = 'or name another Python in $BENCH_PYTHON';
  if (answer.kind !== 'answered') {
    const why = problemOf(answer);
    throw new EnvironmentLackingError(
      `${name}: ${why}; variants are made by a Python with ModelOpt: install it, ${other}`,
    );
  }
  const found = readPythonVersions(answer.text);
  const lacking = found?.packages.flatMap(([pack, version]) => (version === null ? [pack] : []));
  const missing = lacking ?? ['packages that it can name'];
  if (found === null || missing.length > 0) {
    throw new EnvironmentLackingError(`${name} lacks ${missing.join(', ')}: ${modeloptInstall(interpreter)}; ${other}`);
  }
  const packages = Object.fromEntries(found.packages.map(([pack, version]) => [pack, version ?? '']));
  return { interpreter, python: found.python, packages };
}

export function variantsForStore(
  storePath: string,
  python: ConverterPython,
  io: ConverterIo,
  onEvent: (event: SweepEvent) => void,
): VariantContext {
  return {
    cache: new VariantCache(join(dirname(storePath), 'variants')),
    python,
    env: io.env,
    spawn: io.spawn,
    signal: io.signal,
    onStart: (variant) => onEvent({ kind: 'variantStarted', variant }),
    onNote: (text) => onEvent({ kind: 'note', text }),
  };
}
