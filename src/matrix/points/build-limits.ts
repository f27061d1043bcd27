import type { Flags } from '../matrix.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList } from '../yaml/mistake-list.ts';
import type { BuildFile, MatrixFile } from '../schema/schema.ts';
import type { SourcePath } from '../yaml/source-node.ts';

/** Settings of `build:` that are a flag each, and the flag. */
const FLAG_OF = { optimizationLevel: '--builderOptimizationLevel', memoryPoolsMib: '--memPoolSize' } as const;

/**
 * The limits of the builder as the flags that they are, each at its place in the file.
 * @param build of the model, laid on top of that for all
 */
export function limitFlags(file: MatrixFile, model: MatrixModel, build: BuildFile, list: MistakeList): Flags {
  const { optimizationLevel } = build;
  // Plain integers are MiB in every version, while suffixes are read differently.
  const pools = Object.entries(build.memoryPoolsMib ?? {}).map(([pool, mib]) => `${pool}:${mib}`);
  const at = (setting: keyof typeof FLAG_OF) => list.keyAt(placeOf(setting, model));
  refuseTwice(file.build, ['build'], list);
  refuseTwice(model.build, [...model.path, 'build'], list);
  return {
    ...(optimizationLevel === undefined
      ? {}
      : { [FLAG_OF.optimizationLevel]: { value: [String(optimizationLevel)], at: at('optimizationLevel') } }),
    ...(pools.length === 0 ? {} : { [FLAG_OF.memoryPoolsMib]: { value: [pools.join(',')], at: at('memoryPoolsMib') } }),
  };
}

function placeOf(setting: keyof typeof FLAG_OF, model: MatrixModel): SourcePath {
  return model.build[setting] === undefined ? ['build', setting] : [...model.path, 'build', setting];
}

/** trtexec takes a second one of the same flag for an unknown one. */
function refuseTwice(build: BuildFile | undefined, path: SourcePath, list: MistakeList): void {
  for (const [setting, flag] of Object.entries(FLAG_OF)) {
    const isStated = setting in (build ?? {}) && flag in (build?.flags ?? {});
    if (isStated) {
      list.addAtKey([...path, 'flags', flag], `${flag} is build.${setting} already: state one of the two`);
    }
  }
}
