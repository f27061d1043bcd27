import Database from 'better-sqlite3';
import { z } from 'zod';

const rowSchema = z.object({ started_at: z.string(), wall_s: z.number(), gpu: z.string().nullable() });

export interface Span {
  readonly gpu: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** When each run of these stores had its GPU. */
export function spansOf(stores: readonly string[]): Span[] {
  return stores.flatMap((path) => {
    const db = new Database(path, { readonly: true });
    const rows = db
      .prepare(
        `SELECT started_at, wall_s, gpu_uuid gpu FROM runs JOIN environments USING (environment_id)
          WHERE started_at IS NOT NULL AND wall_s IS NOT NULL`,
      )
      .all()
      .map((row) => rowSchema.parse(row));
    db.close();
    return rows.map(({ started_at, wall_s, gpu }) => {
      const startMs = Date.parse(started_at);
      return { gpu: gpu ?? '', startMs, endMs: startMs + 1000 * wall_s };
    });
  });
}

/** Runs that were on one GPU at the same time, by more than the millisecond that is stored. */
export function overlaps(stores: readonly string[]): { readonly runs: number; readonly pairs: number } {
  const spans = spansOf(stores).toSorted((a, b) => a.startMs - b.startMs);
  const pairs = spans.reduce((sum, first, place) => {
    const later = spans.slice(place + 1, place + 20);
    return sum + later.filter(({ gpu, startMs }) => gpu === first.gpu && startMs < first.endMs - 2).length;
  }, 0);
  return { runs: spans.length, pairs };
}
