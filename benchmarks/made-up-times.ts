import type { QueryTimes } from '../src/trtexec/run-facts.ts';

/** Times as trtexec would print them, of queries that follow one another on one stream: stamps are 32-bit floats. */
export function madeUpTimes(queries: number): QueryTimes {
  const names = ['startEnqMs', 'endEnqMs', 'startH2dMs', 'endH2dMs', 'startComputeMs', 'endComputeMs'] as const;
  const more = ['startD2hMs', 'endD2hMs', 'h2dMs', 'computeMs', 'd2hMs', 'latencyMs'] as const;
  const columns = Object.fromEntries([...names, ...more].map((name) => [name, new Float64Array(queries)]));
  let now = 200;
  for (let query = 0; query < queries; query += 1) {
    const [h2d, compute, d2h] = [around(0.092, 0.0005), around(0.96, 0.002), around(0.0045, 0.0003)];
    const stamps = [0.002, h2d, 0.03, compute, 0.004, d2h].map((step) => (now = Math.fround(now + step)));
    const [startH2d = 0, endH2d = 0, startCompute = 0, endCompute = 0, startD2h = 0, endD2h = 0] = stamps;
    const startEnq = startH2d + around(0.24, 0.003);
    const durations = [endH2d - startH2d, endCompute - startCompute, endD2h - startD2h];
    const latency = durations.reduce((sum, duration) => sum + duration, 0);
    const row = [startEnq, startEnq + around(0.51, 0.004), ...stamps, ...durations, latency];
    for (const [index, values] of Object.values(columns).entries()) {
      values[query] = Number((row[index] ?? 0).toPrecision(6));
    }
  }
  return { count: queries, columns };
}

/** About normal. */
function around(mean: number, deviation: number): number {
  return mean + deviation * (Math.random() + Math.random() + Math.random() + Math.random() - 2) * Math.sqrt(3);
}
