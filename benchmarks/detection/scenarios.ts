/** What one kind of simulated history has beside its plain noise. */
export interface Scenario {
  readonly name: string;
  /** How its level changes. */
  readonly shape: 'none' | 'one' | 'down' | 'many' | 'revert' | 'late' | 'ramp' | 'step-then-ramp';
  /** Size of a step over the noise of one night, from and to. */
  readonly snr: readonly [number, number];
  /** Nights with a long right tail: always, or by chance. */
  readonly hasTail: boolean;
  readonly hasOutliers: boolean;
  readonly isBimodal: boolean;
  readonly drifts: boolean;
  readonly isQuantised: boolean;
  readonly variesInNoise: boolean;
  /** Share of nights without a measurement, from and to. */
  readonly missing: readonly [number, number] | null;
}

const PLAIN = {
  shape: 'none',
  snr: [1.5, 20],
  hasTail: false,
  hasOutliers: false,
  isBimodal: false,
  drifts: false,
  isQuantised: false,
  variesInNoise: false,
  missing: null,
} as const satisfies Omit<Scenario, 'name'>;

/** What disturbs a history without changing its level. */
const DISTURBED: readonly (Partial<Scenario> & Pick<Scenario, 'name'>)[] = [
  { name: 'tail', hasTail: true },
  { name: 'outliers', hasOutliers: true },
  { name: 'bimodal', isBimodal: true },
  { name: 'drift', drifts: true },
  { name: 'quantised', isQuantised: true },
  { name: 'variance', variesInNoise: true },
  { name: 'missing', missing: [0.05, 0.15] },
];

const CHANGING: readonly (Partial<Scenario> & Pick<Scenario, 'name'>)[] = [
  { name: 'step-small', shape: 'one', snr: [1.5, 4] },
  { name: 'step-mid', shape: 'one', snr: [4, 8] },
  { name: 'step-large', shape: 'one', snr: [8, 40] },
  { name: 'step-down', shape: 'down' },
  { name: 'step-many', shape: 'many' },
  { name: 'step-revert', shape: 'revert' },
  { name: 'step-late', shape: 'late', snr: [3, 20] },
  { name: 'ramp', shape: 'ramp' },
  { name: 'step-then-ramp', shape: 'step-then-ramp' },
];

/** 24 of them, 8 without a change. */
export const SCENARIOS: readonly Scenario[] = [
  { ...PLAIN, name: 'null-quiet' },
  ...DISTURBED.map((scenario) => ({ ...PLAIN, ...scenario, name: `null-${scenario.name}` })),
  ...CHANGING.map((scenario) => ({ ...PLAIN, ...scenario })),
  ...DISTURBED.map((scenario) => ({ ...PLAIN, shape: 'one' as const, ...scenario, name: `step-${scenario.name}` })),
];
