import { inArray } from 'drizzle-orm';

import type { RunTelemetry } from '../../records/telemetry.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runTelemetry } from '../schema.ts';

/** What the machine did during runs, by their ids; runs that nobody watched are absent. */
export function telemetryOf(db: StoreDatabase, runIds: readonly string[]): Map<string, RunTelemetry> {
  const rows = db
    .select()
    .from(runTelemetry)
    .where(inArray(runTelemetry.runId, [...runIds]))
    .all();
  return new Map(
    rows.map(({ runId, clockReasons, otherProcesses, ...numbers }) => [
      runId,
      { ...numbers, clockReasons, otherProcesses },
    ]),
  );
}
