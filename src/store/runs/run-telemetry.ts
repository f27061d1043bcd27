import { inArray } from 'drizzle-orm';

import { CLOCK_REASONS, type OtherProcess, type RunTelemetry } from '../../records/telemetry.ts';
import { isRecord } from '../../text/unknown-values.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runTelemetry } from '../schema.ts';

/** What the machine did beside runs, by their ids; runs that nobody watched are absent. */
export function telemetryOf(db: StoreDatabase, runIds: readonly string[]): Map<string, RunTelemetry> {
  const rows = db
    .select()
    .from(runTelemetry)
    .where(inArray(runTelemetry.runId, [...runIds]))
    .all();
  return new Map(
    rows.map(({ runId, clockReasons, otherProcesses, ...numbers }) => [
      runId,
      { ...numbers, clockReasons: reasonsIn(clockReasons), otherProcesses: processesIn(otherProcesses) },
    ]),
  );
}

function reasonsIn(json: string): RunTelemetry['clockReasons'] {
  const parsed: unknown = JSON.parse(json);
  const shares = isRecord(parsed) ? parsed : {};
  return Object.fromEntries(
    CLOCK_REASONS.flatMap((reason) => {
      const share = shares[reason];
      return typeof share === 'number' ? [[reason, share]] : [];
    }),
  );
}

function processesIn(json: string): OtherProcess[] {
  const parsed: unknown = JSON.parse(json);
  return (Array.isArray(parsed) ? parsed : []).flatMap((entry: unknown) => {
    if (!isRecord(entry)) return [];
    const { memoryMib, name, pid } = entry;
    if (typeof pid !== 'number' || typeof name !== 'string') return [];
    return [{ pid, name, memoryMib: typeof memoryMib === 'number' ? memoryMib : null }];
  });
}
