import type { GateLimit } from '../records/gate-settings.ts';
import { gatedMetricOf, type GatedMetricId, unknownMetric } from '../records/gated-metric.ts';

type LimitReading =
  | ({ readonly kind: 'limit' } & Pick<GateLimit, 'metric' | 'comparison' | 'value'>)
  /** `offset` in characters, 0-based. */
  | { readonly kind: 'faulty'; readonly offset: number; readonly problem: string };

/** Families of units, each in multiples of its first one. */
const UNITS: readonly Readonly<Record<string, number>>[] = [
  { ms: 1, s: 1000, us: 1e-3, µs: 1e-3, ns: 1e-6 },
  { MiB: 1, GiB: 1024, KiB: 1 / 1024, MB: 1e6 / 1024 ** 2, GB: 1e9 / 1024 ** 2, kB: 1e3 / 1024 ** 2 },
  { qps: 1, 'queries/s': 1 },
];

const LIMIT = /^(\s*)(.*?)(\s*)(<=|>=|[<>=≤≥]+)(\s*)(\S*?)(\s*)([^\s\d.]*)\s*$/;

/**
 * `p99 <= 2 ms`: a metric, `<=` or `>=`, and a number in any unit of its kind; without one it is that of the metric.
 * @param names what a metric may be called
 */
export function readLimit(text: string, names: ReadonlyMap<string, GatedMetricId>): LimitReading {
  const [, before = '', name = '', space = '', operator = '', between = '', number = '', gap = '', unit = ''] =
    LIMIT.exec(text) ?? [];
  if (name === '') return faulty(0, `"${text}" is no limit: write METRIC <= VALUE, as in p99 <= 2 ms`);
  const metric = names.get(name);
  if (metric === undefined) {
    return faulty(before.length, unknownMetric(name, names));
  }
  const operatorAt = before.length + name.length + space.length;
  const { betterIs, unit: own } = gatedMetricOf(metric);
  const needed = betterIs === 'lower' ? '<=' : '>=';
  if (operator !== needed) {
    return faulty(operatorAt, `of ${name} ${betterIs} is better: write ${name} ${needed} ${number}${gap}${unit}`);
  }
  const numberAt = operatorAt + operator.length + between.length;
  const value = number === '' ? Number.NaN : Number(number);
  if (!Number.isFinite(value) || value < 0)
    return faulty(numberAt, `a number from 0 on is needed, not "${number}${gap}${unit}"`);
  const scale = unit === '' ? 1 : scaleOf(unit, own);
  if (scale === null) {
    const others = Object.keys(familyOf(own) ?? { [own]: 1 });
    return faulty(numberAt + number.length + gap.length, `${name} is in ${others.join(', ')}, not "${unit}"`);
  }
  return { kind: 'limit', metric, comparison: needed, value: value * scale };
}

function familyOf(unit: string): Readonly<Record<string, number>> | undefined {
  return UNITS.find((family) => unit in family);
}

/** How much one of `unit` is in `own`; null when they measure different things. */
function scaleOf(unit: string, own: string): number | null {
  if (unit === own) return 1;
  const family = familyOf(own);
  const [from, to] = [family?.[unit], family?.[own]];
  return from === undefined || to === undefined ? null : from / to;
}

function faulty(offset: number, problem: string): LimitReading {
  return { kind: 'faulty', offset, problem };
}
