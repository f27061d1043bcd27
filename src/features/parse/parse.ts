import { type ReadOptions, type ReadRun, readBareLog } from '../../artefacts/read/read-run.ts';
import { readSource } from '../../artefacts/read/read-source.ts';
import type { RunSource } from '../../artefacts/read/recognise.ts';
import { boundOfRead } from '../../judge/bound.ts';
import { layersOf, profileOf } from '../../layers/profiled-engine.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import type { ParsedRun } from '../../trtexec/run-facts.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { ParseOutput } from './output.ts';
import { runText } from '../../terminal/run-text.ts';
import { findRuns, type LeftOut, leftOutOutput, nothingIn, readNamed } from '../../selection/find-runs.ts';
import { type Io, printResult } from '../../cli/io.ts';
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
  const output = { schemaVersion: 1 as const, runs: runs.map(outputOf), ...leftOutOutput(leftOut) };
  const code = printResult<ParseOutput>(io, options, output, (_, look) =>
    runs.flatMap((run) => [...runText(run, look), '']),
  );
  return isWhole ? code : EXIT_CODES.incomplete;
}

/** Times are null if not printed or not measured, such as with transfers off. */
function outputOf(run: ParsedRun): ParseOutput['runs'][number] {
  const { path, log, exports, harness, derived, telemetry, flags, outcome, notes } = run;
  const measurement = log.measurement ?? log.excerpt;
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
    ...(Object.keys(log.derived).length === 0 ? {} : { derived: log.derived }),
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
    bound: boundOfRead(run),
    telemetry,
    flags,
    hints: [...new Set(log.hints.map(({ id }) => id))],
    harness: harness === null ? null : { method: harness.method, values: harness.values },
    notes,
    layers: layersOf({ log, exports }),
    layersTotal: profileOf({ log, exports })?.total ?? null,
  };
}

async function readPath(path: string, reading: ReadOptions, leftOut: LeftOut, io: Io): Promise<ReadRun[]> {
  const sources: RunSource[] = path === '-' ? [] : await findRuns(path, io, undefined, leftOut);
  const runs: ReadRun[] = path === '-' ? await readBareLog('-', reading, untilAborted(io)) : [];
  for (const source of sources) {
    io.signal.throwIfAborted();
    runs.push(...(await readSource(source, undefined, { ...reading, signal: io.signal })));
  }
  io.signal.throwIfAborted();
  return runs;
}

async function* untilAborted({ stdin, signal }: Io): AsyncGenerator<Buffer> {
  for await (const chunk of stdin) {
    signal.throwIfAborted();
    yield chunk;
  }
}
