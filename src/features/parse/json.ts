import type { HarnessReading } from '../../records/harness.ts';
import type { TimeStatistics } from '../../records/measurement.ts';
import { type Outcome, outcomeReason } from '../../records/outcome.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { ParsedRun } from '../../trtexec/parsed-run.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import type { JoinedLayer } from '../../layers/layer-info.ts';
import { layersOf } from '../../layers/join-layers.ts';

export const PARSE_SCHEMA_VERSION = 1;

/** `bench parse --json`. Times are null where they were not printed, or not measured (transfers off). */
export interface ParseJson {
  readonly schemaVersion: typeof PARSE_SCHEMA_VERSION;
  readonly runs: readonly ParsedRunJson[];
}

interface ParsedRunJson {
  readonly file: string;
  readonly outcome: {
    readonly kind: Outcome['kind'];
    readonly reason: string | null;
    readonly evidence: readonly { line: number; text: string; stream: string }[];
  };
  readonly tensorrtVersion: string | null;
  readonly gpu: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  readonly throughputQps: number | null;
  readonly latencyMs: TimeStatistics | null;
  readonly enqueueMs: TimeStatistics | null;
  readonly h2dMs: TimeStatistics | null;
  readonly gpuComputeMs: TimeStatistics | null;
  readonly d2hMs: TimeStatistics | null;
  readonly hostWalltimeS: number | null;
  readonly gpuTotalS: number | null;
  readonly queries: number | null;
  readonly warmUpQueries: number | null;
  readonly engineMiB: number | null;
  readonly buildS: number | null;
  readonly contextMiB: number | null;
  readonly cvPercent: number | null;
  readonly enqueueRatio: number | null;
  readonly enqueueClass: 'free' | 'near' | 'bound' | null;
  readonly gpuBusy: number | null;
  readonly idleGapMs: number | null;
  readonly transferBound: 'h2d' | 'd2h' | null;
  readonly itemsPerS: number | null;
  readonly telemetry: RunTelemetry | null;
  readonly hints: readonly string[];
  readonly flags: readonly RunFlag[];
  /** Of another harness than trtexec. */
  readonly harness: Pick<HarnessReading, 'method' | 'values'> | null;
  readonly notes: readonly string[];
  readonly layers: readonly JoinedLayer[] | null;
}

export function parseJson(runs: readonly ParsedRun[]): ParseJson {
  return { schemaVersion: PARSE_SCHEMA_VERSION, runs: runs.map(runJson) };
}

function runJson({ path, log, exports, harness, derived, telemetry, flags, outcome, notes }: ParsedRun): ParsedRunJson {
  const { measurement } = log;
  return {
    file: path,
    outcome: {
      kind: outcome.kind,
      reason: outcomeReason(outcome),
      evidence: outcome.evidence.map(({ line, text, stream }) => ({ line, text, stream })),
    },
    tensorrtVersion: log.tensorrtVersion === null ? null : formatTensorrtVersion(log.tensorrtVersion),
    gpu: log.device.name,
    options: { ...log.options, banner: log.banner },
    throughputQps: measurement?.throughputQps ?? null,
    latencyMs: measurement?.latencyMs ?? harness?.latencyMs ?? null,
    enqueueMs: measurement?.enqueueMs ?? null,
    h2dMs: measurement?.h2dMs ?? null,
    gpuComputeMs: measurement?.gpuComputeMs ?? null,
    d2hMs: measurement?.d2hMs ?? null,
    hostWalltimeS: measurement?.hostWalltimeS ?? null,
    gpuTotalS: measurement?.gpuTotalS ?? null,
    queries: derived.queries,
    warmUpQueries: log.warmUpQueries,
    engineMiB: log.build.createdEngineMib ?? log.build.loadedEngineMib,
    buildS: log.build.engineBuiltS,
    contextMiB: log.build.contextMemoryMib,
    cvPercent: derived.cvPercent,
    enqueueRatio: derived.enqueueRatio,
    enqueueClass: derived.enqueueClass,
    gpuBusy: derived.gpuBusy,
    idleGapMs: derived.idleGapMs,
    transferBound: derived.transferBound,
    itemsPerS: derived.itemsPerS,
    telemetry,
    flags,
    hints: [...new Set(log.hints.map(({ id }) => id))],
    harness: harness === null ? null : { method: harness.method, values: harness.values },
    notes,
    layers: layersOf({ log, exports }),
  };
}
