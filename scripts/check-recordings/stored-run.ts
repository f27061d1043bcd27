import { createHash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';

import Database from 'better-sqlite3';

import type { QueryTimes } from '../../src/trtexec/run-facts.ts';
import { REMARKS_FOR_NUMBERS } from '../../src/trtexec/log/hints.ts';
import { isOneOf, isRecord, type UnknownRecord } from '../../src/text/unknown-values.ts';
import { decodeSamples } from '../../src/store/runs/blob-codecs.ts';
import type { Claims } from './claims.ts';

/** One run as it is in the store, read with plain SQL. */
export interface StoredRun {
  readonly row: UnknownRecord;
  /** Of its measurement and its banner, under the keys of `RunFacts`. */
  readonly claims: Claims;
  readonly isMeasured: boolean;
  readonly samples: QueryTimes | null;
  readonly profile: UnknownRecord | null;
  readonly iterations: unknown;
  readonly evidence: readonly UnknownRecord[];
  /** Ids; of remarks that are kept for their number with it: `engine_loaded_s 0.0123`. */
  readonly hints: readonly string[];
  readonly artefacts: readonly UnknownRecord[];
}

const MEASUREMENT_KEYS: ReadonlyMap<string, string> = new Map([
  ['throughput_qps', 'throughputQps'],
  ['host_walltime_s', 'hostWalltimeS'],
  ['gpu_total_s', 'gpuTotalS'],
  ['queries', 'queries'],
  ['warm_up_queries', 'warmUpQueries'],
  ['context_memory_mib', 'contextMemoryMib'],
]);

const STATISTIC_KEYS: ReadonlyMap<string, string> = new Map([
  ['min_ms', 'min'],
  ['max_ms', 'max'],
  ['mean_ms', 'mean'],
  ['median_ms', 'median'],
]);

export class StoreReader {
  private readonly db: Database.Database;

  constructor(path: string) {
    this.db = new Database(path, { readonly: true });
  }

  close(): void {
    this.db.close();
  }

  run(runId: string): StoredRun | null {
    const [row] = this.rows('SELECT * FROM runs JOIN invocations USING (invocation_id) WHERE run_id = ?', runId);
    if (row === undefined) return null;
    const [measurement] = this.rows('SELECT * FROM measurements WHERE run_id = ?', runId);
    const [blob] = this.rows('SELECT data FROM samples WHERE run_id = ?', runId);
    const [layers] = this.rows('SELECT * FROM layer_profiles WHERE run_id = ?', runId);
    const samples = blob?.['data'];
    return {
      row,
      claims: this.claims(runId, row, measurement),
      isMeasured: measurement !== undefined,
      samples: Buffer.isBuffer(samples) ? decodeSamples(samples) : null,
      profile: layers === undefined ? null : unpacked(layers['data']),
      iterations: layers?.['iterations'] ?? null,
      evidence: this.rows('SELECT stream, line, text FROM run_evidence WHERE run_id = ? ORDER BY position', runId),
      hints: this.rows('SELECT hint, value FROM run_hints WHERE run_id = ?', runId).map(({ hint, value }) =>
        isOneOf(REMARKS_FOR_NUMBERS, hint) ? `${hint} ${String(value)}` : String(hint),
      ),
      artefacts: this.rows('SELECT name, sha256, bytes FROM artefacts WHERE run_id = ? ORDER BY name', runId),
    };
  }

  private claims(runId: string, row: UnknownRecord, measurement: UnknownRecord = {}): Claims {
    const claims: Claims = new Map();
    take(claims, '', measurement, MEASUREMENT_KEYS);
    for (const statistics of this.rows('SELECT * FROM time_statistics WHERE run_id = ?', runId)) {
      const prefix = `${String(statistics['metric'])}Ms.`;
      take(claims, prefix, statistics, STATISTIC_KEYS);
      for (const [percent, value] of Object.entries(parsed(statistics['percentiles']))) {
        if (typeof value === 'number') claims.set(`${prefix}p${percent}`, value);
      }
    }
    for (const [section, values] of Object.entries(parsed(row['banner']))) {
      for (const [key, value] of Object.entries(isRecord(values) ? values : {})) {
        claims.set(`banner.${section}.${key}`, String(value));
      }
    }
    return claims;
  }

  runCount(): number {
    return Number(this.rows('SELECT count(*) AS runs FROM runs')[0]?.['runs']);
  }

  /** The same for the same rows in every table, whatever their order. */
  digest(): Map<string, string> {
    const tables = this.rows(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`);
    return new Map(
      tables.map(({ name }) => {
        const table = String(name);
        const hashes = this.rows(`SELECT * FROM "${table}"`).map((row) =>
          createHash('sha256').update(JSON.stringify(row)).digest('hex'),
        );
        hashes.sort();
        return [table, createHash('sha256').update(hashes.join()).digest('hex')];
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

function take(claims: Claims, prefix: string, row: UnknownRecord, keys: ReadonlyMap<string, string>): void {
  for (const [column, key] of keys) {
    const value = row[column];
    if (typeof value === 'number') claims.set(prefix + key, value);
  }
}

function parsed(json: unknown): UnknownRecord {
  const value: unknown = typeof json === 'string' ? JSON.parse(json) : null;
  return isRecord(value) ? value : {};
}

function unpacked(data: unknown): UnknownRecord {
  return Buffer.isBuffer(data) ? parsed(zstdDecompressSync(data).toString('utf8')) : {};
}
