import * as z from 'zod';

const output = z.object({
  sqnrDb: z.number().nullable(),
  relativeError: z.number().min(0),
  cosineMin: z.number(),
  cosineMean: z.number(),
  maxAbsError: z.number().min(0),
  top1: z.object({ same: z.number().int().min(0), of: z.number().int().min(1) }).nullable(),
});

const answer = z.union([
  z.object({ problem: z.string(), isLacking: z.boolean() }),
  z.object({
    samples: z.number().int().min(1),
    outputs: z.record(z.string(), output),
    versions: z.record(z.string(), z.string()),
  }),
]);

export type OutputComparison = z.infer<typeof output>;

export type ComparisonReading =
  | {
      readonly kind: 'compared';
      readonly samples: number;
      readonly outputs: ReadonlyMap<string, OutputComparison>;
      readonly versions: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'problem'; readonly problem: string; readonly isLacking: boolean };

/** What `python/compare_outputs.py` printed: its last line, for libraries may print before it. */
export function readComparison(text: string): ComparisonReading {
  const line = text.trim().split('\n').at(-1) ?? '';
  const read = answer.safeParse(jsonOrNull(line));
  if (!read.success) {
    return { kind: 'problem', problem: 'the comparison printed no answer that bench can read', isLacking: false };
  }
  if ('problem' in read.data) return { kind: 'problem', ...read.data };
  const { samples, outputs, versions } = read.data;
  return { kind: 'compared', samples, outputs: new Map(Object.entries(outputs)), versions };
}

/** The number that a metric command printed: the last word of its last line. Null when that is none. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  const value = Number(word);
  return word === '' || !Number.isFinite(value) ? null : value;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
