import type { BuildFacts } from './parsed-log.ts';
import { finiteOrNull, NUMBER } from './numbers.ts';

export type BuildDraft = { -readonly [Key in keyof BuildFacts]: BuildFacts[Key] };

export function emptyBuild(): BuildDraft {
  return {
    engineBuiltS: null,
    createdEngineMib: null,
    loadedEngineMib: null,
    deserializedS: null,
    parsedModelS: null,
    contextMemoryMib: null,
    refitMs: null,
    inferenceSkipped: false,
    inferenceStarted: false,
  };
}

type NumericFact = Exclude<keyof BuildFacts, 'inferenceSkipped' | 'inferenceStarted'>;

/** Lines that stand once for each phase; their order and number differ by version. */
const BUILD_LINES: readonly { readonly fact: NumericFact; readonly pattern: RegExp }[] = [
  { fact: 'engineBuiltS', pattern: new RegExp(`^Engine built in (${NUMBER}) sec`) },
  { fact: 'createdEngineMib', pattern: new RegExp(`^Created engine with size: (${NUMBER}) MiB`) },
  { fact: 'loadedEngineMib', pattern: new RegExp(`^Loaded engine (?:with )?size: (${NUMBER}) MiB`) },
  { fact: 'deserializedS', pattern: new RegExp(`^Engine (?:deserialized|loaded) in (${NUMBER}) sec`) },
  { fact: 'parsedModelS', pattern: new RegExp(`^Finished parsing network model\\. Parse time: (${NUMBER})`) },
  {
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Created execution context with device memory size: (${NUMBER}) MiB`),
  },
  {
    // Of the strategies that do not reserve what the largest profile takes.
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Only allocated device memory enough for current (?:profile|input shapes): (${NUMBER}) MiB`),
  },
  { fact: 'refitMs', pattern: new RegExp(`^Engine refitted in (${NUMBER}) ms`) },
];

/** Takes one `[I]` line outside the banner and the report. */
export function readBuildLine(draft: BuildDraft, text: string): void {
  if (text.startsWith('Starting inference')) draft.inferenceStarted = true;
  else if (text.startsWith('Skipped inference phase since')) draft.inferenceSkipped = true;
  else {
    for (const { fact, pattern } of BUILD_LINES) {
      const match = pattern.exec(text);
      if (match !== null) {
        draft[fact] = finiteOrNull(match[1]);
        return;
      }
    }
  }
}
