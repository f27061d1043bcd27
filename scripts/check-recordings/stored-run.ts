import { createHash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';

import Database from 'better-sqlite3';

import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { outcomeReason } from '../../src/records/outcome.ts';
import { decodeSamples } from '../../src/store/runs/blob-codecs.ts';
import { isOneOf, isRecord, type UnknownRecord } from '../../src/text/unknown-values.ts';
import { REMARKS_FOR_NUMBERS, remarkNumbers } from '../../src/trtexec/log/hints.ts';
import { compareFacts, type Comparison, differs, type Facts } from './facts.ts';

/** One run as it is in the store, read with plain SQL. */
export type StoredRun = NonNullable<ReturnType<StoreReader['run']>>;

const MEASUREMENT_KEYS = {
  throughput_qps: 'throughputQps',
  host_walltime_s: 'hostWalltimeS',
  gpu_total_s: 'gpuTotalS',
  queries: 'queries',
  warm_up_queries: 'warmUpQueries',
  context_memory_mib: 'contextMemoryMib',
};
const STATISTIC_KEYS = { min_ms: 'min', max_ms: 'max', mean_ms: 'mean', median_ms: 'median' };

export class StoreReader {
  private readonly db: Database.Database;

  constructor(path: string) {
    this.db = new Database(path, { readonly: true });
  }

  close(): void {
    this.db.close();
  }

  run(runId: string) {
    const [row] = this.rows('SELECT * FROM runs JOIN invocations USING (invocation_id) WHERE run_id = ?', runId);
    if (row === undefined) return null;
    const [measurement] = this.rows('SELECT * FROM measurements WHERE run_id = ?', runId);
    const [blob] = this.rows('SELECT data FROM samples WHERE run_id = ?', runId);
    const [layers] = this.rows('SELECT * FROM layer_profiles WHERE run_id = ?', runId);
    const samples = blob?.['data'];
    return {
      row,
      /** Of its measurement and its banner, under the keys of `RunFacts`. */
      claims: new Map<string, number | string>([...this.numbers(runId, measurement), ...words(row['banner'])]),
      isMeasured: measurement !== undefined,
      samples: Buffer.isBuffer(samples) ? decodeSamples(samples) : null,
      profile: layers === undefined ? null : unpacked(layers['data']),
      iterations: layers?.['iterations'] ?? null,
      evidence: this.rows('SELECT stream, line, text FROM run_evidence WHERE run_id = ? ORDER BY position', runId),
      /** Ids; of remarks that are kept for their number with it: `engine_loaded_s 0.0123`. */
      hints: this.rows('SELECT hint, value FROM run_hints WHERE run_id = ?', runId).map(({ hint, value }) =>
        isOneOf(REMARKS_FOR_NUMBERS, hint) ? `${hint} ${String(value)}` : String(hint),
      ),
      artefacts: this.rows('SELECT name, sha256, bytes FROM artefacts WHERE run_id = ? ORDER BY name', runId),
    };
  }

  private numbers(runId: string, measurement: UnknownRecord = {}): [string, number][] {
    const found = this.rows('SELECT * FROM time_statistics WHERE run_id = ?', runId).flatMap((row) => {
      const prefix = `${String(row['metric'])}Ms.`;
      const percentiles = Object.entries(parsed(row['percentiles']));
      return [
        ...named(prefix, STATISTIC_KEYS, row),
        ...percentiles.map(([percent, value]): [string, unknown] => [`${prefix}p${percent}`, value]),
      ];
    });
    return [...named('', MEASUREMENT_KEYS, measurement), ...found].flatMap(([key, value]): [string, number][] =>
      typeof value === 'number' ? [[key, value]] : [],
    );
  }

  /** The same for the same rows in every table, whatever their order. */
  digest(): Map<string, string> {
    return new Map(
      this.rows(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`).map(({ name }) => {
        const hashes = this.rows(`SELECT * FROM "${String(name)}"`).map((row) => hash(JSON.stringify(row)));
        return [String(name), hash(hashes.toSorted().join())];
      }),
    );
  }

  private rows(sql: string, ...values: readonly string[]): UnknownRecord[] {
    return this.db
      .prepare(sql)
      .all(...values)
      .filter(isRecord);
  }
}

function named(prefix: string, keys: Readonly<Record<string, string>>, row: UnknownRecord): [string, unknown][] {
  return Object.entries(keys).map(([column, key]) => [prefix + key, row[column]]);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Of the banner. */
function words(banner: unknown): [string, string][] {
  return Object.entries(parsed(banner)).flatMap(([section, values]) =>
    Object.entries(isRecord(values) ? values : {}).map(([key, value]): [string, string] => [
      `banner.${section}.${key}`,
      String(value),
    ]),
  );
}

function parsed(json: unknown): UnknownRecord {
  const value: unknown = typeof json === 'string' ? JSON.parse(json) : null;
  return isRecord(value) ? value : {};
}

function unpacked(data: unknown): UnknownRecord {
  return Buffer.isBuffer(data) ? parsed(zstdDecompressSync(data).toString('utf8')) : {};
}

const METRIC = /^(?:latency|enqueue|h2d|gpuCompute|d2h)Ms\./;
const FIGURES = new Set(Object.values(MEASUREMENT_KEYS));

/** What the store holds of a run against the text of its log. */
export function compareStored(stored: StoredRun, facts: Facts): Comparison {
  const claims = new Map(stored.claims);
  // Worked out from throughput and wall time where the trace does not say it.
  if (!facts.has('queries')) claims.delete('queries');
  const held = [...facts].filter(
    ([key]) => key.startsWith('banner.') || (stored.isMeasured && (FIGURES.has(key) || METRIC.test(key))),
  );
  return compareFacts(new Map(held), claims, 'the store');
}

/** What the store holds of a run against what was read from disk. */
export function storedDifferences(stored: StoredRun, run: ReadRun): string[] {
  const { row } = stored;
  const { manifest, outcome, log, exports } = run;
  const numbers = Object.entries(remarkNumbers(log.build)).flatMap(([id, value]) =>
    value === null ? [] : [`${id} ${value}`],
  );
  const read = exports.profile ?? log.profile;
  const layers = exports.layerInfo ?? [];
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['outcome', outcome.kind, row['outcome']],
    ['reason', outcomeReason(outcome), row['reason']],
    ['exit code', manifest.exitCode, row['exit_code']],
    ['signal', manifest.signal, row['signal']],
    ['timed out', Number(manifest.timedOut), row['timed_out']],
    ['wall time', manifest.wallS, row['wall_s']],
    ['argv', manifest.argv === null ? null : JSON.stringify(manifest.argv), row['argv']],
    ['notes', JSON.stringify(run.notes), row['notes']],
    ['provenance', manifest.provenance ?? 'imported', row['provenance']],
    ['evidence', lines(outcome.evidence), lines(stored.evidence)],
    ['hints', list(new Set([...log.hints.map(({ id }) => id), ...numbers])), list(stored.hints)],
    ['artefacts', files(run.artefacts), files(stored.artefacts)],
    ['a measurement', log.measurement !== null, stored.isMeasured],
    ['number of samples', exports.times?.count || null, stored.samples?.count ?? null],
    ...(read === null && layers.length === 0
      ? ([['layers', null, stored.profile]] as const)
      : ([
          ['iterations', read?.iterations ?? null, stored.iterations],
          ['profile', JSON.stringify(read?.layers ?? null), JSON.stringify(stored.profile?.['profile'])],
          ['layers', JSON.stringify(layers), JSON.stringify(stored.profile?.['layers'])],
        ] as const)),
  ];
  return pairs
    .filter(([, expected, got]) => !Object.is(expected, got))
    .map(([what, expected, got]) => differs(`${what}, of the store`, expected, got));
}

function lines(evidence: readonly object[]): string {
  return evidence.map((entry) => fieldsOf(entry, ['stream', 'line', 'text'])).join('\n');
}

function files(artefacts: readonly object[]): string {
  return list(artefacts.map((entry) => fieldsOf(entry, ['name', 'sha256', 'bytes'])));
}

/** Some fields of an object in a fixed order. */
function fieldsOf(entry: object, fields: readonly string[]): string {
  const values = new Map<string, unknown>(Object.entries(entry));
  return JSON.stringify(fields.map((field) => values.get(field)));
}

function list(ids: Iterable<string>): string {
  return [...ids].toSorted().join(' ');
}
