import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest: one that begins last keeps everybody waiting for it alone. */
const LONGEST = `docs/docs features/bisect/bisect process/other-systems features/run/confirm
  features/import/rebuild features/compare/compare-run features/slurm/recipe features/slurm/recipe-losses
  judge/history/targets machine/clock-lock machine/gpus run/kills run/resume run/trouble engines/engines
  variants/variants features/import/import features/completion/shells features/ab/ab pins/scenes
  store/merge/merge html/report terminal/terminal package`.split(/\s+/);

/** The longest files begin first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Not the one of arrays.
    // oxlint-disable-next-line unicorn/no-array-sort
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? LONGEST.length : place;
}
