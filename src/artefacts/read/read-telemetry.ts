import { errorText } from '../../errors.ts';
import type { RunFiles } from '../run-files.ts';
import type { RunManifest } from '../run-manifest.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { type GpuSamples, parseDmon, parseQueryCsv, samplesOf } from '../../tools/nvidia-smi/gpu-samples.ts';
import { summariseTelemetry } from '../../tools/nvidia-smi/summarise.ts';
import type { TrtexecRun } from '../../trtexec/log/parsed-log.ts';

/** What nvidia-smi printed during a run of bench. */
export const TELEMETRY_FILE = 'telemetry.csv';

/** Names under which people keep what nvidia-smi printed during a run. */
const QUERY_NAME = /^nvidia-smi.*\.csv$/;
const DMON_NAME = /^(?:nvidia-smi-)?dmon.*\.(?:txt|log|csv)$/;

function isDmonName(name: string): boolean {
  return DMON_NAME.test(name);
}

/** @param name without the compression extension */
export function isTelemetryName(name: string): boolean {
  return name === TELEMETRY_FILE || QUERY_NAME.test(name) || isDmonName(name);
}

interface ReadTelemetry {
  readonly telemetry: RunTelemetry | null;
  readonly notes: readonly string[];
}

/**
 * What was watched during a run: bench's own samples, else those that somebody else's nvidia-smi left in the folder.
 */
export async function readTelemetry(
  files: RunFiles,
  { watched }: RunManifest,
  { device }: TrtexecRun,
): Promise<ReadTelemetry> {
  const notes: string[] = [];
  const names = files.names.filter(isTelemetryName).toSorted();
  const name = names.find((candidate) => candidate === TELEMETRY_FILE) ?? names[0];
  let gpus: readonly GpuSamples[] = [];
  if (name !== undefined) {
    try {
      const text = (await files.whole(name)).toString('utf8');
      gpus = isDmonName(name) ? parseDmon(text) : parseQueryCsv(text);
    } catch (error) {
      notes.push(`${name} is damaged: ${errorText(error)}`);
    }
  }
  const samples = samplesOf(gpus, device.uuid);
  if (samples.length === 0 && gpus.length > 0) {
    notes.push(`${name} has no samples of the GPU of this run`);
  }
  if (samples.length === 0 && watched === null) return { telemetry: null, notes };
  const moment = watched ?? { hostLoad: null, otherProcesses: [] };
  return { telemetry: summariseTelemetry(samples, moment), notes };
}
