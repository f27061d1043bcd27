import type { ReadRun } from '../read/read-run.ts';
import type { StandaloneReading } from '../read/read-standalone.ts';
import type { RunSource } from '../read/recognise.ts';
import type { RunManifest } from '../run-manifest.ts';
import { isRecord } from '../../text/unknown-values.ts';
import type { QueryTimes } from '../../trtexec/run-facts.ts';
import { PackedTimes, type PackedTimesParts } from '../../trtexec/samples/packed-times.ts';

/** What a thread is asked for. */
export type Task =
  | { readonly kind: 'read'; readonly source: RunSource; readonly standalone: StandaloneReading }
  | {
      readonly kind: 'keep';
      readonly target: string;
      readonly files: ReadonlyMap<string, string>;
      readonly manifest: RunManifest;
    };

export type Answer = ReadAnswer | { readonly kind: 'kept' } | { readonly kind: 'failed' };

interface ReadAnswer {
  readonly kind: 'read';
  /** Without the times of queries. */
  readonly runs: readonly ReadRun[];
  readonly times: readonly (PackedTimesParts | null)[];
  /** Objects in `runs` without a prototype: a message would give them one. */
  readonly bare: readonly object[];
}

/** What a message can carry. */
export function answerOf(runs: readonly ReadRun[]): ReadAnswer {
  const without = runs.map((run) => withTimes(run, null));
  const times = runs.map(({ exports }) => (exports.times instanceof PackedTimes ? exports.times.parts : null));
  return { kind: 'read', runs: without, times, bare: bareIn(without) };
}

/** The same as before it was sent. */
export function runsOf({ bare, runs, times }: ReadAnswer): ReadRun[] {
  for (const object of bare) Object.setPrototypeOf(object, null);
  return runs.map((run, index) => {
    const parts = times[index] ?? null;
    return parts === null ? run : withTimes(run, PackedTimes.of(parts));
  });
}

function withTimes(run: ReadRun, times: QueryTimes | null): ReadRun {
  return { ...run, exports: { ...run.exports, times } };
}

function bareIn(value: unknown): object[] {
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.flatMap(bareIn) : [];
  if (!isRecord(value)) return [];
  const inner = Object.values(value).flatMap(bareIn);
  return Object.getPrototypeOf(value) === null ? [value, ...inner] : inner;
}
