import { findFlag } from '../flags/flag-table.ts';
import type { Mistake } from '../../errors.ts';
import type { MatrixCell, Placed } from '../../matrix/matrix.ts';
import type { Dialect } from './dialect.ts';

/** The libraries of plugins, as a build or the loading of its engine needs them; each has a flag of its own. */
export function pluginFlags(
  { build, cell }: MatrixCell,
  dialect: Dialect,
  phase: 'build' | 'run',
  mistakes: Mistake[],
): string[] {
  const { dynamic, serialize, static: fixed } = build.plugins;
  const spell = (flag: string, libraries: readonly Placed<string>[]): string[] => {
    const [first] = libraries;
    if (first !== undefined && !dialect.has(flag)) {
      const since = findFlag(flag)?.since;
      const problem = `trtexec ${dialect.name} has no ${flag}: it is there since ${since?.major}.${since?.minor}`;
      mistakes.push({ at: first.at, problem });
    }
    return libraries.map(({ value }) => `${flag}=${value}`);
  };
  const runtime = cell.axisFlags['--useRuntime'];
  if (fixed[0] !== undefined && runtime !== undefined && runtime !== 'full') {
    const problem = `plugins.static need the full runtime, and there are cells with runtime: ${runtime}: use plugins.dynamic`;
    mistakes.push({ at: fixed[0].at, problem });
  }
  // What the engine carries in itself must not be loaded beside it.
  const beside = dynamic.filter(({ value }) => !serialize.some((own) => own.value === value));
  return [
    ...spell(dialect.has('--staticPlugins') ? '--staticPlugins' : '--plugins', fixed),
    ...spell('--dynamicPlugins', phase === 'build' ? dynamic : beside),
    ...(phase === 'build' ? spell('--setPluginsToSerialize', serialize) : []),
  ];
}
