import type { Environment } from '../domain/environment.ts';
import { printable } from '../domain/printable.ts';
import { RunWatch } from '../ingest/run-watch.ts';
import type { SweepContext } from '../ingest/sweep-context.ts';
import { environmentOf, firstVisibleGpu } from '../parse/nvidia-smi/gpu-environment.ts';
import { type GpuReport, parseGpuReport } from '../parse/nvidia-smi/gpu-report.ts';
import { askForReport } from '../run/gpu-query.ts';
import { hostFacts, numaNodeOf } from '../run/host-facts.ts';
import { LoadedLibrary } from '../run/loaded-library.ts';
import type { TrtexecProgram } from '../run/trtexec-program.ts';
import type { Io } from './io.ts';

export interface Machine {
  readonly environment: Partial<Environment>;
  /** What is missing, for a person; null when nothing is. */
  readonly note: string | null;
  /** Whether nvidia-smi answers on this machine: else there is nothing to watch a run with. */
  readonly hasSmi: boolean;
}

/** What is known of the machine before anything runs. Recordings say it of the machine that they were made on. */
export async function machineOf(program: TrtexecProgram, io: Io): Promise<Machine> {
  if (program.recordings !== null) {
    return { environment: program.recordings.environment, note: null, hasSmi: false };
  }
  const host = hostFacts(io.env);
  const report = await reportOf(io);
  if (typeof report === 'string') {
    const note = `nvidia-smi gave no answer (${printable(report)}): driver and GPU are taken from trtexec's log`;
    return { environment: host, note, hasSmi: false };
  }
  const gpu = firstVisibleGpu(report.gpus, io.env);
  const numaNode = numaNodeOf(gpu?.busId ?? null);
  const environment = { ...host, ...environmentOf(report, gpu), numaNode };
  return { environment, note: null, hasSmi: true };
}

/** What looks at the machine while runs are timed. Recordings have nothing to look at. */
export function watching(
  machine: Machine,
  program: TrtexecProgram,
  telemetry: boolean,
  io: Io,
  onNote: (note: string) => void,
): Pick<SweepContext, 'library' | 'watch'> {
  if (program.recordings !== null) return { library: null, watch: null };
  const library = new LoadedLibrary();
  if (!telemetry) return { library, watch: null };
  const { environment, hasSmi } = machine;
  const gpuUuid = environment.gpuUuid ?? null;
  const { signal } = io;
  return { library, watch: new RunWatch({ env: program.env, gpuUuid, hasSmi, signal, onNote }) };
}

/** The report, or in a few words why there is none. */
export async function reportOf(io: Io): Promise<GpuReport | string> {
  const answer = await askForReport(io.env);
  if (answer.kind === 'none') return answer.reason;
  try {
    const report = parseGpuReport(answer.text);
    return report.gpus.length === 0 ? 'it found no GPU' : report;
  } catch {
    return 'its report was not understood';
  }
}
