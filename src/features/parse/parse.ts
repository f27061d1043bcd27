import * as z from 'zod';

import { type ReadOptions, type ReadRun, readBareLog } from '../../artefacts/read/read-run.ts';
import { readSource } from '../../artefacts/read/read-source.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { EXIT_CODES, type ExitCode } from '../../errors.ts';
import { boundOfRead } from '../../judge/bound.ts';
import { layersOf, profileOf } from '../../layers/profiled-engine.ts';
import { cellBoundSchema } from '../../records/bound.ts';
import { OUTCOME_KINDS, outcomeReason } from '../../records/outcome.ts';
import type { OutputOf } from '../../records/output-parts.ts';
import { evidence, flag, layer, method, output, reason, statistics, telemetry } from '../../records/output-parts.ts';
import { count, numberOrNull } from '../../records/scalars.ts';
import type { LeftOut } from '../../selection/find-runs.ts';
import { findRuns, leftOutOutput, leftOutSchema, nothingIn, readNamed } from '../../selection/find-runs.ts';
import { runText } from '../../terminal/run-text.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import type { ParsedRun } from '../../trtexec/log/derived.ts';
import type { ParseOptions } from './command.ts';

export async function parse(paths: readonly string[], options: ParseOptions, io: Io): Promise<ExitCode> {
  const reading: ReadOptions = options.minQueries === undefined ? {} : { limits: { minQueries: options.minQueries } };
  const runs: ReadRun[] = [];
  const leftOut: LeftOut = {};
  const isWhole = await readNamed(paths, leftOut, io, async (path) => {
    const own = await readPath(path, reading, leftOut, io);
    runs.push(...own);
    return own.length === 0 ? nothingIn(path) : null;
  });
  const result = { schemaVersion: 1 as const, runs: runs.map(outputOf), ...leftOutOutput(leftOut) };
  const code = printResult<ParseOutput>(io, options, result, (_, look) =>
    runs.flatMap((run) => [...runText(run, look), '']),
  );
  return isWhole ? code : EXIT_CODES.incomplete;
}

/** Times are null if not printed or not measured, such as with transfers off. */
function outputOf(run: ParsedRun): ParseOutput['runs'][number] {
  const { path, log, exports, harness, derived, flags, outcome, notes } = run;
  const measurement = log.measurement ?? log.excerpt;
  const { boundBy: _boundBy, gpuComputeCentreMs: _centre, latencyCentreMs: _ofLatency, queries, ...ratios } = derived;
  const profile = profileOf(run);
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
    queries,
    warmUpQueries: log.warmUpQueries,
    ...(Object.keys(log.derived).length === 0 ? {} : { derived: log.derived }),
    engineMiB: log.build.createdEngineMib ?? log.build.loadedEngineMib,
    buildS: log.build.engineBuiltS,
    loadS: log.build.deserializedS,
    contextMiB: log.build.contextMemoryMib,
    ...ratios,
    bound: boundOfRead(run),
    telemetry: run.telemetry,
    flags,
    hints: [...new Set(log.hints.map(({ id }) => id))],
    harness: harness === null ? null : { method: harness.method, values: harness.values },
    notes,
    layers: layersOf({ log, exports }),
    layersTotal: profile?.total === undefined ? null : { queries: profile.iterations, ...profile.total },
  };
}

async function readPath(path: string, reading: ReadOptions, leftOut: LeftOut, io: Io): Promise<ReadRun[]> {
  if (path === '-') return readBareLog('-', reading, untilAborted(io));
  const runs: ReadRun[] = [];
  for (const source of await findRuns(path, io, undefined, leftOut)) {
    runs.push(...(await readSource(source, undefined, { ...reading, signal: io.signal })));
  }
  return runs;
}

async function* untilAborted({ stdin, signal }: Io): AsyncGenerator<Buffer> {
  for await (const chunk of stdin) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** Null for a number that an excerpt lacks. */
const times = z
  .strictObject({ ...statistics.shape, min: numberOrNull, max: numberOrNull, median: numberOrNull })
  .nullable();
export const parseOutput = output('bench parse --json', {
  leftOut: leftOutSchema,
  runs: z.array(
    z.strictObject({
      file: z.string(),
      outcome: z.strictObject({ kind: z.enum(OUTCOME_KINDS), reason, evidence: z.array(evidence) }),
      tensorrtVersion: z.string().nullable(),
      gpu: z.string().nullable(),
      options: z.record(z.string(), z.unknown()).describe("Options that trtexec's banner states"),
      throughputQps: numberOrNull,
      latencyMs: times,
      enqueueMs: times,
      h2dMs: times,
      gpuComputeMs: times,
      d2hMs: times,
      hostWalltimeS: numberOrNull,
      gpuTotalS: numberOrNull,
      queries: count.nullable(),
      warmUpQueries: count.nullable(),
      derived: z
        .record(z.string(), z.string())
        .exactOptional()
        .describe('Formulas of values computed from printed ones; absent if there are none'),
      engineMiB: numberOrNull,
      buildS: numberOrNull,
      loadS: numberOrNull,
      contextMiB: numberOrNull,
      cvPercent: numberOrNull,
      enqueueRatio: numberOrNull,
      enqueueClass: z.enum(['free', 'near', 'bound']).nullable(),
      gpuBusy: numberOrNull,
      idleGapMs: numberOrNull,
      transferBound: z.enum(['h2d', 'd2h']).nullable(),
      itemsPerS: numberOrNull,
      bound: cellBoundSchema,
      telemetry: telemetry.nullable(),
      hints: z.array(z.string()),
      flags: z.array(flag),
      harness: z
        .strictObject({ method: method, values: z.array(z.strictObject({ metric: z.string(), value: z.number() })) })
        .nullable()
        .describe('Results of another harness; null for trtexec'),
      notes: z.array(z.string()),
      layers: z.array(layer).nullable(),
      layersTotal: layer
        .pick({ timeMs: true, averageMs: true, medianMs: true })
        .extend({ queries: count })
        .nullable()
        .describe('Time of all layers, if the log lists only some of them; otherwise null'),
    }),
  ),
});

type ParseOutput = OutputOf<typeof parseOutput>;
