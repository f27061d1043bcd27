import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take half a minute and more: one that begins last keeps everybody waiting for it alone. */
const LONGEST = [
  'docs/docs',
  'commands/bisect',
  'golden/golden',
  'slurm/recipe',
  'slurm/recipe-losses',
  'slurm/recipe-accounting',
  'slurm/recipe-controller',
  'run/clock-lock',
  'ingest/kills',
  'ingest/variants',
  'ingest/trouble',
  'commands/check',
  'store/merge',
  'store/merge-cut-off',
  'ingest/engines',
  'commands/hostile-names',
  'commands/json-output',
  'page/report',
  'commands/terminal',
  'package',
];

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
