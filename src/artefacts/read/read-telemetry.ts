import { createHash } from 'node:crypto';
import { dirname } from 'node:path';

import { errorText } from '../../errors.ts';
import { readWhole } from '../../files/files.ts';
import { type RunFiles, runFilesOf } from '../run-files.ts';
import { emptyManifest, type RunManifest } from '../run-manifest.ts';
import { NOT_WATCHED, parseGpuSamples, samplesOf, summariseTelemetry } from '../../tools/nvidia-smi/gpu-samples.ts';
import type { GpuSamples } from '../../tools/nvidia-smi/gpu-samples.ts';
import type { TrtexecRun } from '../../trtexec/log/run-builder.ts';

/** The output of nvidia-smi during a run of bench. */
export const TELEMETRY_FILE = 'telemetry.csv';

/** Names under which people keep the output of nvidia-smi. */
const QUERY_NAME = /^nvidia-smi.*\.csv$/;
const DMON_NAME = /^(?:nvidia-smi-)?dmon.*\.(?:txt|log|csv)$/;

/** @param name without the compression extension */
export function isTelemetryName(name: string): boolean {
  return name === TELEMETRY_FILE || QUERY_NAME.test(name) || DMON_NAME.test(name);
}

/** Whether a text begins with the column names of dmon. */
export function isDmon(text: string): boolean {
  return /^#.*\sgpu\s/.test(text);
}

/**
 * Reads the output of nvidia-smi for a log outside of any run folder, under the name that it will have in the run
 * folder.
 */
export async function telemetryNextTo(path: string, log: TrtexecRun) {
  const bytes = await readWhole(path);
  const name = isDmon(bytes.toString('utf8')) ? 'dmon.txt' : 'nvidia-smi.csv';
  const artefact = { name, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
  const files = runFilesOf(dirname(path), new Map([[name, bytes]]));
  return { artefact, ...(await readTelemetry(files, emptyManifest(), log)) };
}

/** Telemetry of a run: bench's own samples, else the output of somebody else's nvidia-smi in the folder. */
export async function readTelemetry(files: RunFiles, { environment, watched }: RunManifest, { device }: TrtexecRun) {
  const notes: string[] = [];
  const names = files.names.filter(isTelemetryName).toSorted();
  const name = names.find((candidate) => candidate === TELEMETRY_FILE) ?? names[0];
  let gpus: readonly GpuSamples[] = [];
  if (name !== undefined) {
    try {
      gpus = parseGpuSamples((await files.whole(name)).toString('utf8'));
    } catch (error) {
      notes.push(`${name} is damaged: ${errorText(error)}`);
    }
  }
  // Another harness does not state its GPU. If the run used several GPUs, the one of its worker represents it.
  const uuid = device.uuid ?? (gpus.length > 1 ? (environment.gpuUuid ?? null) : null);
  const samples = samplesOf(gpus, uuid);
  if (samples.length === 0 && gpus.length > 0) {
    notes.push(`${name} has no samples of the GPU of this run`);
  }
  if (samples.length === 0 && watched === null) return { telemetry: null, notes };
  return { telemetry: summariseTelemetry(samples, watched ?? NOT_WATCHED), notes };
}
