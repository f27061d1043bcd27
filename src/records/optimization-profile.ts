import { parseShapes, type Shapes } from './cell.ts';

export interface BuildShape {
  readonly min: readonly number[];
  readonly opt: readonly number[];
  readonly max: readonly number[];
}

/** Limits of one optimization profile, by input. */
export type BuildShapes = Readonly<Record<string, BuildShape>>;

export interface Outside {
  readonly input: string;
  /** 0-based dimension; null when the ranks differ. */
  readonly place: number | null;
  readonly problem: string;
}

/** First dimension outside of the profile; null when all are inside. */
export function outsideProfile(shapes: Shapes, profile: BuildShapes): Outside | null {
  for (const [input, shape] of Object.entries(shapes)) {
    const limits = profile[input];
    if (limits === undefined) continue;
    if (shape.length !== limits.max.length) {
      const problem = `input "${input}": ${shape.join('x')} has ${shape.length} dimensions, the profile ${limits.max.length}`;
      return { input, place: null, problem };
    }
    for (const [place, value] of shape.entries()) {
      const low = limits.min[place] ?? 0;
      const high = limits.max[place] ?? 0;
      if (value < low || value > high) {
        const problem = `input "${input}": ${value} in dimension ${place} is outside of ${low} to ${high} (build.min to build.max)`;
        return { input, place, problem };
      }
    }
  }
  return null;
}

/**
 * Index of the profile that shapes run in: of those that include them, the one with the nearest `opt`. -1: none
 * includes them.
 */
export function profileFor(shapes: Shapes, profiles: readonly BuildShapes[]): number {
  const distances = profiles.map((profile) =>
    outsideProfile(shapes, profile) === null ? distance(shapes, profile) : Number.POSITIVE_INFINITY,
  );
  const least = Math.min(...distances);
  return Number.isFinite(least) ? distances.indexOf(least) : -1;
}

/** Distance on the log scale, so that half and twice `opt` are equally near. */
function distance(shapes: Shapes, profile: BuildShapes): number {
  return Object.entries(shapes)
    .flatMap(([input, shape]) => shape.map((value, place) => [value, profile[input]?.opt[place] ?? value] as const))
    .reduce((sum, [value, opt]) => sum + Math.abs(Math.log(Math.max(value, 1) / Math.max(opt, 1))), 0);
}

/** The profiles of an engine, from the options of its build. */
export function profilesIn(flags: readonly string[]): BuildShapes[] {
  const [mins, opts, maxs] = (['min', 'opt', 'max'] as const).map((limit) =>
    flags
      .filter((flag) => flag.startsWith(`--${limit}Shapes=`))
      .map((flag) => parseShapes(flag.slice(flag.indexOf('=') + 1)) ?? {}),
  );
  return (opts ?? []).map((opt, place) =>
    Object.fromEntries(
      Object.entries(opt).map(([input, shape]) => {
        const [min, max] = [mins?.[place]?.[input] ?? shape, maxs?.[place]?.[input] ?? shape];
        return [input, { min, opt: shape, max }];
      }),
    ),
  );
}
