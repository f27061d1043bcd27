import { cellOf } from '../../artefacts/read/identify.ts';
import type { ReadRun } from '../../artefacts/read/read-run.ts';
import { NOTHING_STATED } from '../../artefacts/read/read-source.ts';
import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { layersOf, type ProfiledEngine, profileOf } from '../../layers/profiled-engine.ts';
import { labelOf, overlapNotes } from '../../selection/profiled-engine.ts';
import { runsUnder } from '../../selection/runs-of-paths.ts';
import { printable } from '../../text/printable.ts';
import { instantOf } from '../../text/utc-instant.ts';

/** The layers of the newest profile in a file or folder. @param tracedRuns number of runs that a trace without it sums */
export async function profiledPath(path: string, io: Io, tracedRuns?: number): Promise<ProfiledEngine | null> {
  const runs = await runsUnder(path, io, { ...NOTHING_STATED, runs: tracedRuns ?? null });
  const engines = runs.map((run) => engineOf(run, path)).filter((engine) => engine !== null);
  const timed = engines.filter(({ iterations }) => iterations !== null);
  if (new Set(timed.map((engine) => engine.cellLabel)).size > 1) {
    throw new UsageError(`${printable(path)} has profiles of several cells: name the folder of one`);
  }
  return timed.at(-1) ?? engines.at(-1) ?? null;
}

function engineOf(run: ReadRun, ref: string): ProfiledEngine | null {
  const { contentId, log, manifest, telemetry } = run;
  const { environment, lone: standalone } = manifest;
  const layers = layersOf(run);
  if (layers === null) return null;
  const cell = cellOf(run);
  const profile = profileOf(run);
  return {
    ref,
    runId: manifest.runId ?? contentId,
    sweepId: manifest.sweepId,
    cellKey: cell.model === 'unnamed' ? null : cell.key,
    cellLabel: labelOf(cell),
    cudaGraph: cell.cudaGraph,
    provenance: manifest.provenance ?? 'imported',
    startedAt: instantOf(manifest.startedAt),
    layers,
    total: profile?.total,
    iterations: profile?.iterations ?? null,
    gpuComputeMs: log.measurement?.gpuComputeMs.median ?? null,
    notes: [
      ...(standalone?.kind === 'layers' && standalone.format === 'trace' ? ['from a trace, not from trtexec'] : []),
      ...(standalone?.kind === 'layers' ? run.notes : []),
      ...overlapNotes(log.hints.map(({ id }) => id)),
    ],
    stated: {
      shapes: cell.shapes,
      conditions: {
        computeCapability: log.device.computeCapability ?? environment.computeCapability ?? null,
        gpuName: log.device.name ?? environment.gpuName ?? null,
        maxSmClockMhz: environment.maxSmClockMhz ?? null,
        mig: environment.mig ?? null,
        smClockMhz: telemetry?.smClockMhz ?? null,
      },
    },
  };
}
