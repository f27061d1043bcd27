import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { TIMED_METRICS } from '../../src/records/harness.ts';
import type { DerivedValues } from '../../src/trtexec/log/derived.ts';

/** What a text says: a figure or word as it is there, and where. */
export interface Fact {
  readonly text: string;
  readonly line: number;
}

export type Facts = Map<string, Fact>;

const NUMBER = /^[-+]?[\d.,]+(?:e[-+]?\d+)?$/;
const NO_NUMBER = /^[-+]?(?:inf|nan)$/;

/** True for a figure in any format, also in one that the program's parser might not know; not for damaged text. */
export function isNumberLike(text: string): boolean {
  return NUMBER.test(text) || NO_NUMBER.test(text);
}

/** False for what C++ prints for a number that is none. */
export function isFiniteText(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

/** The number that a C++ stream printed. */
function figureOf(text: string): number {
  if (text.trim() === '') return Number.NaN;
  return NO_NUMBER.test(text) ? Number(text.replace('inf', 'Infinity')) : Number(text);
}

export function differs(what: string, expected: unknown, got: unknown): string {
  return `${what} – expected ${shown(expected)}, got ${shown(got)}`;
}

const SHOWN_CHARACTERS = 200;

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** What the program says of a run, under the keys of `RunFacts`. What it does not know is absent. */
export type Claims = Map<string, number | string>;

type Claimed = number | string | boolean | null | undefined;

export function claimsOf({ log }: Pick<ReadRun, 'log'>): Claims {
  const { banner, build, device, inputBindings, measurement, options, profile, tensorrtVersion } = log;
  const { buildShapes, shapes, percentiles, ...plain } = options;
  const { inferenceSkipped: _skipped, inferenceStarted: _started, ...figures } = build;
  const claims: (readonly [string, Claimed])[] = [
    ...Object.entries(plain),
    ...Object.entries(figures),
    ...prefixed('device.', device),
    ['percentiles', percentiles.join(',') || null],
    ['version', tensorrtVersion && [tensorrtVersion.major, tensorrtVersion.minor, tensorrtVersion.patch].join('.')],
    ['warmUpQueries', log.warmUpQueries],
    ['queries', log.queries],
    ['profile.iterations', profile?.iterations],
    ...Object.entries(shapes).map(([name, shape]) => [`shape.${name}`, shape.join('x')] as const),
    ...Object.entries(inputBindings).map(([name, shape]) => [`binding.${name}`, shape.join('x')] as const),
    ...Object.entries(buildShapes).map(([name, { min, opt, max }]) => {
      return [`buildShape.${name}`, [min, opt, max].map((shape) => shape.join('x')).join('+')] as const;
    }),
    ...Object.entries(banner).flatMap(([section, values]) => prefixed(`banner.${section}.`, values)),
    ...(profile?.layers ?? []).flatMap(({ index, ...layer }) => prefixed(`profile.${index}.`, layer)),
  ];
  if (measurement !== null) {
    const { throughputQps, hostWalltimeS, gpuTotalS } = measurement;
    claims.push(...Object.entries({ throughputQps, hostWalltimeS, gpuTotalS }));
    for (const metric of TIMED_METRICS) {
      const { percentiles: list = {}, ...others } = measurement[metric] ?? {};
      claims.push(...prefixed(`${metric}.`, others), ...prefixed(`${metric}.p`, list));
    }
  }
  return new Map(
    claims.flatMap(([key, value]): [string, number | string][] => {
      if (value === null || value === undefined) return [];
      return [[key, typeof value === 'boolean' ? (value ? 'Enabled' : 'Disabled') : value]];
    }),
  );
}

function prefixed(prefix: string, values: Readonly<Record<string, Claimed>>): (readonly [string, Claimed])[] {
  return Object.entries(values).map(([key, value]) => [prefix + key, value]);
}

export interface Difference {
  /** Of the fact; null when no line says what is claimed. */
  readonly line: number | null;
  readonly what: string;
}

export interface Comparison {
  readonly numbers: number;
  readonly differences: readonly Difference[];
}

/** Both ways: what the text says must be claimed, and what is claimed must stand in the text. */
export function compareFacts(facts: Facts, claims: Claims, claimant = 'the parser'): Comparison {
  const differences: Difference[] = [];
  let numbers = 0;
  for (const [key, { text, line }] of facts) {
    const claimed = claims.get(key);
    const isSame = typeof claimed === 'number' ? isEqual(figureOf(text), claimed) : text === claimed;
    if (!isSame) differences.push({ line, what: differs(`${key}, of ${claimant}`, text, claimed) });
    else if (typeof claimed === 'number') numbers += 1;
  }
  for (const [key, claimed] of claims) {
    const what = differs(`${key}, of ${claimant}, is nowhere in the log`, undefined, claimed);
    if (!facts.has(key)) differences.push({ line: null, what });
  }
  return { numbers, differences };
}

/** 0 and -0 are one number here. */
function isEqual(one: number, other: number): boolean {
  return one === other || (Number.isNaN(one) && Number.isNaN(other));
}

/** Of one part in this many: sums are taken in another order here. */
const PRECISION = 1e-9;

/**
 * Values that follow from what was printed, worked out anew from the text.
 * @param computeMs GPU compute time of each query, in milliseconds; null without the exported times
 */
export function derivedDifferences(
  facts: Facts,
  computeMs: readonly number[] | null,
  derived: DerivedValues,
): Difference[] {
  const value = (key: string): number | null => {
    const fact = facts.get(key);
    return fact === undefined ? null : Number(fact.text);
  };
  const [qps, walltimeS] = [value('throughputQps'), value('hostWalltimeS')];
  const counted = qps === null || walltimeS === null ? null : Math.round(qps * walltimeS);
  const median = value('gpuComputeMs.median');
  const expected: Record<string, number | null> = {
    queries: value('queries') ?? counted,
    enqueueRatio: median === 0 ? null : ratio(value('enqueueMs.median'), median),
    gpuBusy: (value('streams') ?? 1) === 1 ? ratio(value('gpuTotalS'), walltimeS) : null,
  };
  if (computeMs !== null && computeMs.length > 0) {
    const mean = computeMs.reduce((sum, time) => sum + time, 0) / computeMs.length;
    const variance = computeMs.reduce((sum, time) => sum + (time - mean) ** 2, 0) / computeMs.length;
    if (mean > 0) expected['cvPercent'] = (Math.sqrt(variance) / mean) * 100;
  }
  const got = new Map<string, unknown>(Object.entries(derived));
  return Object.entries(expected)
    .filter(([key, wanted]) => !isClose(wanted, got.get(key)))
    .map(([key, wanted]) => ({
      line: null,
      what: differs(`${key}, as it follows from the log`, wanted, got.get(key)),
    }));
}

function ratio(above: number | null, below: number | null): number | null {
  return above === null || below === null ? null : above / below;
}

function isClose(wanted: number | null, got: unknown): boolean {
  if (wanted === null || typeof got !== 'number') return wanted === null && got === null;
  return Object.is(wanted, got) || Math.abs(wanted - got) <= PRECISION * Math.abs(wanted);
}
