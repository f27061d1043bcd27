import { cellOf } from '../artefacts/read/identify.ts';
import { NOTHING_STATED } from '../artefacts/read/read-lone.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { cellLabel } from '../text/cell-label.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { ProfiledEngine } from '../layers/profiled-engine.ts';
import { layersOf } from '../layers/join-layers.ts';
import type { Io } from '../cli/io.ts';
import { overlapNotes } from './profiled-engine.ts';
import { runsUnder } from './runs-of-paths.ts';

/** The layers that lie in a folder or a file; null when nothing there says anything of layers. */
export async function profiledPath(path: string, io: Io, tracedRuns?: number): Promise<ProfiledEngine | null> {
  const runs = (await runsUnder(path, io, { ...NOTHING_STATED, runs: tracedRuns ?? null })).flatMap((run) => {
    const engine = engineOf(run, path);
    return engine === null ? [] : [engine];
  });
  const timed = runs.filter(({ iterations }) => iterations !== null);
  if (new Set(timed.map((engine) => engine.cellLabel)).size > 1) {
    throw new UsageError(`${printable(path)} has profiles of several cells: name the folder of one`);
  }
  return timed.at(-1) ?? runs.at(-1) ?? null;
}

/** UTC in ISO 8601, as everywhere else. */
function instantOf(text: string | null): string | null {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

function engineOf(run: ReadRun, ref: string): ProfiledEngine | null {
  const { log, exports, manifest, contentId } = run;
  const layers = layersOf(run);
  if (layers === null) return null;
  // Exports without a log say nothing of a cell.
  const cell = cellOf(run);
  const totalMs = (exports.profile ?? log.profile)?.totalMs;
  return {
    ...(totalMs === undefined ? {} : { totalMs }),
    ref,
    runId: manifest.runId ?? contentId,
    sweepId: manifest.sweepId,
    cellKey: cell.model === 'unnamed' ? null : cell.key,
    cellLabel: cell.model === 'unnamed' ? null : cellLabel(cell),
    provenance: manifest.provenance ?? 'imported',
    startedAt: instantOf(manifest.startedAt),
    layers,
    iterations: (exports.profile ?? log.profile)?.iterations ?? null,
    gpuComputeMs: log.measurement?.gpuComputeMs.mean ?? null,
    notes: overlapNotes(log.hints.map(({ id }) => id)),
  };
}
