import { MatrixJudge, type MatrixOptions } from '../../../src/judge/sweep/matrix-judge.ts';
import type { CellJudgement, Control } from '../../../src/judge/sweep/sweep-effect.ts';

/** Uniform numbers in 0 to 1 (mulberry32). */
export function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const gaussian =
  (next: () => number): (() => number) =>
  () =>
    Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());

export interface Scene {
  readonly seed: number;
  readonly cells?: number;
  readonly repeats?: number;
  /** Sd of one run, as a log. */
  readonly runSd?: number | ((cell: number) => number);
  readonly sweepSd?: number;
  readonly groups?: (cell: number) => readonly string[];
  /** True time of a cell in a sweep, in ms; 1 unless said. */
  readonly time?: (cell: number, sweep: number) => number;
  readonly controls?: (cell: number, sweep: number) => Control | null;
  readonly options?: MatrixOptions;
}

/** The judgements of each sweep, by sweep and cell. */
export function judgeScene(sweeps: number, scene: Scene): readonly (readonly (CellJudgement | null)[])[] {
  const { seed, cells = 12, repeats = 3, runSd = 0.002, sweepSd = 0.001, time = () => 1 } = scene;
  const normal = gaussian(uniform(seed));
  const places = Array.from({ length: cells }, (_, cell) => cell);
  const judge = new MatrixJudge(
    places.map((cell) => scene.groups?.(cell) ?? []),
    scene.options,
  );
  return Array.from({ length: sweeps }, (_, sweep) => {
    const night = sweepSd * normal();
    const runs = places.map((cell) => {
      const sd = typeof runSd === 'number' ? runSd : runSd(cell);
      const center = Math.log(time(cell, sweep)) + night + (0.7 * sd * normal()) / Math.sqrt(repeats);
      return Array.from({ length: repeats }, () => Math.exp(center + sd * normal()));
    });
    return judge.step(
      runs,
      places.map((cell) => scene.controls?.(cell, sweep) ?? null),
    );
  });
}

/** Where something was reported of a cell: sweep, direction. */
export function reported(scene: readonly (readonly (CellJudgement | null)[])[], cell: number): string[] {
  return scene.flatMap((sweep, place) => {
    const found = sweep[cell]?.reported;
    return found ? [`${place} ${found.direction}`] : [];
  });
}
