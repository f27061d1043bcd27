import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { TIMED_METRICS } from '../../src/records/harness.ts';
import type { TrtexecRun } from '../../src/trtexec/log/parsed-log.ts';

/** What the program says of a run, under the keys of `RunFacts`. What it does not know is absent. */
export type Claims = Map<string, number | string>;

type Claimed = number | string | boolean | null | undefined;

export function claimsOf({ log }: Pick<ReadRun, 'log'>): Claims {
  const { options, device, build, profile, measurement } = log;
  const { buildShapes, shapes, percentiles, ...plain } = options;
  const { inferenceSkipped: _skipped, inferenceStarted: _started, ...figures } = build;
  const { ecc, ...deviceFigures } = device;
  const ticks = log.cudaGraph;
  const claims: [string, Claimed][] = [
    ...Object.entries(plain),
    ...Object.entries(figures),
    ...prefixed('device.', deviceFigures),
    ['device.ecc', ecc === null ? null : ecc ? 'enabled' : 'disabled'],
    ['percentiles', percentiles.length === 0 ? null : percentiles.join(',')],
    ['version', version(log)],
    ['warmUpQueries', log.warmUpQueries],
    ['queries', log.queries],
    ['traceWalltimeS', log.traceWalltimeS],
    ['capturesStarted', ticks.capturesStarted || null],
    ['capturesSucceeded', ticks.capturesSucceeded || null],
    ...traceClaims(log),
    ...prefixed('profile.', { iterations: profile?.iterations }),
  ];
  for (const [name, shape] of Object.entries(shapes)) {
    claims.push([`shape.${name}`, shape.join('x')]);
  }
  for (const [name, { min, opt, max }] of Object.entries(buildShapes)) {
    claims.push([`buildShape.${name}`, [min, opt, max].map((shape) => shape.join('x')).join('+')]);
  }
  for (const [name, shape] of Object.entries(log.inputBindings)) {
    claims.push([`binding.${name}`, shape.join('x')]);
  }
  for (const [section, values] of Object.entries(log.banner)) {
    claims.push(...prefixed(`banner.${section}.`, values));
  }
  for (const { index, ...layer } of profile?.layers ?? []) {
    claims.push(...prefixed(`profile.${index}.`, layer));
  }
  if (measurement !== null) {
    const { throughputQps, hostWalltimeS, gpuTotalS } = measurement;
    claims.push(...Object.entries({ throughputQps, hostWalltimeS, gpuTotalS }));
    for (const metric of TIMED_METRICS) {
      const { percentiles: list = {}, ...others } = measurement[metric] ?? {};
      claims.push(...prefixed(`${metric}.`, others), ...prefixed(`${metric}.p`, list));
    }
  }
  return new Map(claims.flatMap(([key, value]) => said(key, value)));
}

function prefixed(prefix: string, values: Readonly<Record<string, Claimed>>): readonly [string, Claimed][] {
  return Object.entries(values).map(([key, value]) => [prefix + key, value]);
}

function said(key: string, value: Claimed): [string, number | string][] {
  if (value === null || value === undefined) return [];
  return [[key, typeof value === 'boolean' ? (value ? 'Enabled' : 'Disabled') : value]];
}

function version({ tensorrtVersion }: TrtexecRun): string | null {
  if (tensorrtVersion === null) return null;
  const { major, minor, patch } = tensorrtVersion;
  return `${major}.${minor}.${patch}`;
}

function traceClaims({ traceAverages }: TrtexecRun): [string, Claimed][] {
  if (traceAverages === null) return [];
  const { groupSize, omittedQueries, ...columns } = traceAverages;
  return [
    ['averagesOf', groupSize],
    ['omittedQueries', omittedQueries === 0 ? null : omittedQueries],
    ...Object.entries(columns).flatMap(([column, values]) =>
      values.map((value, index): [string, Claimed] => [`trace.${column}.${index}`, value]),
    ),
  ];
}
