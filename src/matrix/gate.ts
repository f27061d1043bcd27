import { findDriver } from '../harnesses/registry.ts';
import type { KeyedCell } from '../records/cell.ts';
import {
  type ConfirmBudget,
  type GateLimit,
  type GateSettings,
  type GatedMetricId,
  gatedMetricOf,
  metricNames,
  unknownMetric,
} from '../records/gated-metric.ts';
import { didYouMean } from '../text/nearest.ts';
import { readByteSize, readDurationS } from '../text/units.ts';
import { readFilter } from './filter.ts';
import { type CellFields, type MatrixCell, type Placed, cellFields } from './matrix.ts';
import { MATRIX_DEFAULTS } from '../records/matrix-defaults.ts';
import type { MatrixFile } from './schema/schema.ts';
import type { MistakeList, SourcePath } from './yaml/source-node.ts';

type LimitReading =
  | ({ readonly kind: 'limit' } & Pick<GateLimit, 'metric' | 'comparison' | 'value'>)
  /** `offset` in characters, 0-based. */
  | { readonly kind: 'faulty'; readonly offset: number; readonly problem: string };

/** Families of units in multiples of the first one. */
const UNITS: readonly Readonly<Record<string, number>>[] = [
  { ms: 1, s: 1000, us: 1e-3, µs: 1e-3, ns: 1e-6 },
  { MiB: 1, GiB: 1024, KiB: 1 / 1024, MB: 1e6 / 1024 ** 2, GB: 1e9 / 1024 ** 2, kB: 1e3 / 1024 ** 2 },
  { qps: 1, 'queries/s': 1 },
];

const LIMIT = /^(\s*)(.*?)(\s*)(<=|>=|[<>=≤≥]+)(\s*)(\S*?)(\s*)([^\s\d.]*)\s*$/;

/**
 * Reads `p99 <= 2 ms`: a metric, `<=` or `>=`, and a number in any unit of its kind; default: the unit of the metric.
 * @param names names of the metrics
 */
export function readLimit(text: string, names: ReadonlyMap<string, GatedMetricId>): LimitReading {
  const [, before = '', name = '', space = '', operator = '', between = '', number = '', gap = '', unit = ''] =
    LIMIT.exec(text) ?? [];
  if (name === '') return faulty(0, `"${text}" is not a limit: write METRIC <= VALUE, as in p99 <= 2 ms`);
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
    return faulty(numberAt, `write a number, 0 or more, not "${number}${gap}${unit}"`);
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

/** Factor from `unit` to `own`; null when they measure different things. */
function scaleOf(unit: string, own: string): number | null {
  if (unit === own) return 1;
  const family = familyOf(own);
  const [from, to] = [family?.[unit], family?.[own]];
  return from === undefined || to === undefined ? null : from / to;
}

function faulty(offset: number, problem: string): LimitReading {
  return { kind: 'faulty', offset, problem };
}

type GateFile = NonNullable<MatrixFile['gate']>;

/**
 * Reads the gate settings. Each entry gets the keys of its cells, or null for all. A faulty entry becomes a mistake and
 * applies to no cell.
 */
export function readGate(file: MatrixFile, cells: readonly MatrixCell[], list: MistakeList): GateSettings {
  const { against, confirm, confirmBudget, limits, minChange, owners, renamedFrom, warn } = file.gate ?? {};
  const reader = new EntryReader(cells, list);
  return {
    confirm: confirm ?? false,
    confirmBudget: confirmBudget === undefined ? null : budgetOf(confirmBudget),
    minChange: minChangesOf(minChange, reader),
    limits: (limits ?? []).flatMap((entry, index) => {
      const path = ['gate', 'limits', index];
      const isText = typeof entry === 'string';
      const text = isText ? entry : entry.limit;
      const filter = isText ? undefined : entry.filter;
      const reading = readLimit(text, reader.names);
      if (reading.kind === 'faulty') {
        reader.addInText(isText ? path : [...path, 'limit'], reading.offset, reading.problem);
        return [];
      }
      const { metric, comparison, value } = reading;
      return [{ text, filter: filter ?? null, metric, comparison, value, cells: reader.cellsOf(filter, path) }];
    }),
    warn: (warn ?? []).map((entry, index) => {
      const path = ['gate', 'warn', index];
      if (typeof entry === 'string') return { metric: reader.metricOf(entry, path), cells: null };
      if (entry.metric === undefined && entry.filter === undefined) list.add(path, 'name a metric, a filter or both');
      return { metric: reader.metricOf(entry.metric, [...path, 'metric']), cells: reader.cellsOf(entry.filter, path) };
    }),
    against: against ?? null,
    renamedFrom: renamedFrom ?? null,
    owners: (owners ?? []).map(({ filter, owner }, index) => ({
      owner,
      cells: reader.cellsOf(filter, ['gate', 'owners', index]),
    })),
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

/** The value of `engines.keepLastGood` in bytes. */
export function readKeptBytes({ engines }: MatrixFile, list: MistakeList): number {
  if (engines?.keepLastGood === undefined) return MATRIX_DEFAULTS.keptLastGoodBytes;
  const bytes = readByteSize(engines.keepLastGood);
  if (bytes === null) list.add(['engines', 'keepLastGood'], 'write a size such as 10GB or 512MiB');
  return bytes ?? MATRIX_DEFAULTS.keptLastGoodBytes;
}

/** The schema has already checked the form. */
function budgetOf(text: string): ConfirmBudget {
  if (text.endsWith('%')) return { kind: 'share', percent: percentOf(text) };
  return { kind: 'time', seconds: readDurationS(text) ?? 0 };
}

function percentOf(stated: number | string): number {
  return typeof stated === 'number' ? stated : Number(stated.replace('%', ''));
}

function minChangesOf(stated: GateFile['minChange'], reader: EntryReader): GateSettings['minChange'] {
  if (stated === undefined) return [];
  if (!Array.isArray(stated)) return [{ metric: null, cells: null, percent: percentOf(stated) }];
  return stated.map(({ metric, filter, percent }, index) => {
    const path = ['gate', 'minChange', index];
    return {
      metric: reader.metricOf(metric, [...path, 'metric']),
      cells: reader.cellsOf(filter, path),
      percent: percentOf(percent),
    };
  });
}

class EntryReader {
  readonly names: ReadonlyMap<string, GatedMetricId>;
  private readonly cells: readonly { readonly cell: KeyedCell; readonly fields: CellFields }[];
  private readonly list: MistakeList;
  /** True without other mistakes; only then is a filter without matches a mistake. */
  private readonly areCellsWhole: boolean;

  constructor(cells: readonly MatrixCell[], list: MistakeList) {
    this.names = metricNames([...new Set(cells.flatMap(measuredBy))]);
    this.cells = cells.map(({ cell, dimensions }) => ({ cell, fields: cellFields(cell, dimensions) }));
    this.list = list;
    this.areCellsWhole = list.mistakes.length === 0;
  }

  /** Null for every metric. */
  metricOf(name: string | undefined, path: SourcePath): GatedMetricId | null {
    if (name === undefined) return null;
    const metric = this.names.get(name);
    if (metric === undefined) this.list.add(path, unknownMetric(name, this.names));
    return metric ?? null;
  }

  /** Null for every cell. */
  cellsOf(filter: string | undefined, entry: SourcePath): string[] | null {
    if (filter === undefined) return null;
    const path = [...entry, 'filter'];
    const known = this.cells.map(({ fields }) => fields);
    const reading = readFilter(filter, known);
    if (reading.kind === 'faulty') {
      this.addInText(path, reading.offset, reading.problem);
      return [];
    }
    const matching = this.cells.filter(({ fields }) => reading.filter(fields));
    if (matching.length === 0 && this.areCellsWhole) {
      this.list.add(path, `"${filter}" matches none of the cells${this.nearestValue(filter)}`);
    }
    return matching.map(({ cell }) => cell.key);
  }

  addInText(path: SourcePath, offset: number, problem: string): void {
    const at = this.list.at(path);
    this.list.addAt({ ...at, column: at.column + offset }, problem);
  }

  /** For a value that no cell has, the most similar value of the field. */
  private nearestValue(filter: string): string {
    for (const [, field = '', value = ''] of filter.matchAll(/([\w.-]+)\s*=\s*["']?([^"'&|,()\s]+)/g)) {
      const values = [...new Set(this.cells.map(({ fields }) => String(fields.values.get(field) ?? '')))];
      if (!values.includes(value)) return didYouMean(value, values);
    }
    return '';
  }
}

function measuredBy({ cell, harness }: MatrixCell) {
  if (harness === null || cell.harness === undefined) return [];
  return [cell.harness.metric, ...(findDriver(harness.driver)?.metrics(harness.settings) ?? [])];
}
