import { findDriver } from '../harnesses/registry.ts';
import { gatedMetricOf, metricNames, unknownMetric } from '../records/gated-metric.ts';
import type { GateLimit, GateSettings, GatedMetricId } from '../records/gated-metric.ts';
import { selectCells } from './filter.ts';
import type { MatrixCell } from './matrix.ts';
import type { MatrixFile } from './schema/schema.ts';
import type { MistakeList, Placed, SourcePath } from './yaml/yaml-source.ts';

/** Families of units in multiples of the first one. */
const UNITS: readonly Readonly<Record<string, number>>[] = [
  { ms: 1, s: 1000, us: 1e-3, µs: 1e-3, ns: 1e-6 },
  { MiB: 1, GiB: 1024, KiB: 1 / 1024, MB: 1e6 / 1024 ** 2, GB: 1e9 / 1024 ** 2, kB: 1e3 / 1024 ** 2 },
  { qps: 1, 'queries/s': 1 },
];

const LIMIT = /^\s*(.*?)\s*(<=|>=|[<>=\u2264\u2265]+)\s*(\S*?)\s*([^\s\d.]*)\s*$/;

/**
 * Reads `p99 <= 2 ms`: a metric, `<=` or `>=`, and a number in any unit of its kind; default: the unit of the metric.
 * @param names names of the metrics
 * @returns a text for a problem
 */
export function readLimit(
  text: string,
  names: ReadonlyMap<string, GatedMetricId>,
): Pick<GateLimit, 'metric' | 'comparison' | 'value'> | string {
  const [, name = '', operator = '', number = '', unit = ''] = LIMIT.exec(text) ?? [];
  if (name === '') return `"${text}" is not a limit: write METRIC <= VALUE, as in p99 <= 2 ms`;
  const metric = names.get(name);
  if (metric === undefined) return unknownMetric(name, names);
  const { betterIs, unit: own } = gatedMetricOf(metric);
  const comparison = betterIs === 'lower' ? '<=' : '>=';
  const family: Readonly<Record<string, number>> = UNITS.find((units) => own in units) ?? { [own]: 1 };
  const scale = (family[unit || own] ?? Number.NaN) / (family[own] ?? 1);
  const value = number === '' ? Number.NaN : Number(number) * scale;
  if (operator === comparison && Number.isFinite(value) && value >= 0) return { metric, comparison, value };
  return `"${text}": write ${name} ${comparison} NUMBER, in ${Object.keys(family).join(', ')}`;
}

/**
 * Reads the gate settings. Each entry gets the keys of its cells, or null for all. A faulty entry becomes a mistake and
 * applies to no cell.
 */
export function readGate({ gate = {} }: MatrixFile, cells: readonly MatrixCell[], list: MistakeList): GateSettings {
  const { limits = [], minChange = [], owners = [], warn = [] } = gate;
  const names = metricNames([...new Set(cells.flatMap(measuredBy))]);
  // Only without other mistakes is a filter without matches one.
  const areCellsWhole = list.mistakes.length === 0;
  const metricOf = (name: string | undefined, entry: SourcePath): GatedMetricId | null => {
    const metric = name === undefined ? null : names.get(name);
    if (name !== undefined && metric === undefined) list.add([...entry, 'metric'], unknownMetric(name, names));
    return metric ?? null;
  };
  const cellsOf = (filter: string | undefined, entry: SourcePath): string[] | null => {
    if (filter === undefined) return null;
    const path = [...entry, 'filter'];
    const reading = selectCells(filter, cells);
    if (reading.kind === 'faulty') {
      list.add(path, reading.problem);
      return [];
    }
    if (reading.cells.length === 0 && areCellsWhole) list.add(path, `"${filter}" matches none of the cells`);
    return reading.cells.map(({ cell }) => cell.key);
  };
  return {
    confirm: gate.confirm ?? false,
    confirmBudget: gate.confirmBudget ?? null,
    minChange: [minChange].flat().map((stated, index) => {
      const { filter, metric, percent } = typeof stated === 'object' ? stated : { percent: stated };
      const path = ['gate', 'minChange', index];
      return { metric: metricOf(metric, path), cells: cellsOf(filter, path), percent: Number.parseFloat(`${percent}`) };
    }),
    limits: limits.flatMap((stated, index) => {
      const path = ['gate', 'limits', index];
      const { filter, limit: text } = typeof stated === 'string' ? { limit: stated } : stated;
      const reading = readLimit(text, names);
      if (typeof reading !== 'string')
        return [{ text, filter: filter ?? null, ...reading, cells: cellsOf(filter, path) }];
      list.add(path, reading);
      return [];
    }),
    warn: warn.map((stated, index) => {
      const { filter, metric } = typeof stated === 'string' ? { metric: stated } : stated;
      const path = ['gate', 'warn', index];
      if (metric === undefined && filter === undefined) list.add(path, 'name a metric, a filter or both');
      return { metric: metricOf(metric, path), cells: cellsOf(filter, path) };
    }),
    against: gate.against ?? null,
    renamedFrom: gate.renamedFrom ?? null,
    owners: owners.map(({ filter, owner }, index) => ({ owner, cells: cellsOf(filter, ['gate', 'owners', index]) })),
  };
}

/** Placeholder for the Node that runs bench. */
export const THIS_NODE = '{node}';

/** Calls a module with the text of standard input. Its arguments are the file that names the module, and its name. */
const CALL_MODULE = [
  "import { createRequire } from 'node:module'; import { text } from 'node:stream/consumers';",
  'const [, from, name] = process.argv;',
  'try { const load = createRequire(from), loaded = load(load.resolve(name));',
  'await (loaded.default ?? loaded)(JSON.parse(await text(process.stdin))); }',
  'catch (error) { console.error(String(error?.message ?? error).split("\\n")[0]); process.exitCode = 1; }',
].join('\n');

/** The program of `notify:`, or a program that calls its module. Paths are relative to the file that contains them. */
export function readNotify({ gate }: MatrixFile, list: MistakeList): Placed<readonly string[]> | null {
  const stated = gate?.notify ?? [];
  if (!Array.isArray(stated)) {
    const at = list.at(['gate', 'notify', 'module']);
    const from = list.pathFrom({ file: '.' }, at.file);
    return { value: [THIS_NODE, '--input-type=module', '--eval', CALL_MODULE, from, stated.module], at };
  }
  const [program, ...args] = stated;
  if (program === undefined) return null;
  const at = list.at(['gate', 'notify', 0]);
  return { value: [program.includes('/') ? list.pathFrom(at, program) : program, ...args], at };
}

function measuredBy({ cell, harness }: MatrixCell) {
  if (harness === null || cell.harness === undefined) return [];
  return [cell.harness.metric, ...(findDriver(harness.driver)?.metrics(harness.settings) ?? [])];
}
