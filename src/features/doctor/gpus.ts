import { join } from 'node:path';

import type { GpusFacts } from '../../machine/machine-facts.ts';
import { ExportFormatError } from '../../errors.ts';
import { type GpuState, parseGpuReport } from '../../tools/nvidia-smi/gpu-report.ts';
import { ask } from '../../process/ask.ts';
import { readRecord } from '../../machine/clock-records.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { numaNodeOf } from '../../machine/host-facts.ts';
import { clockRecordName, lockFolder } from '../../process/lock-folder.ts';
import { ownerState } from '../../process/process-identity.ts';

/** The GPUs that a process started from here may see, as nvidia-smi reports them. */
export async function gpusFacts(env: EnvironmentVariables, timeoutMs: number): Promise<GpusFacts> {
  const answer = await ask('nvidia-smi', ['-q', '-x'], { env, timeoutMs });
  if (answer.kind !== 'answered') return { kind: 'none', answer };
  try {
    const { driver, cuda, gpus } = parseGpuReport(answer.text);
    const seen = gpus.filter((gpu) => isVisible(gpu, env['CUDA_VISIBLE_DEVICES']));
    return {
      kind: 'report',
      driver,
      cuda,
      gpus: seen.map((gpu) => ({ ...gpu, numaNode: numaNodeOf(gpu.busId), clockLock: clockLockOf(gpu.uuid, env) })),
      hidden: gpus.length - seen.length,
    };
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    return { kind: 'none', answer: { ...answer, kind: 'refused', problem: error.message, exitCode: 0, signal: null } };
  }
}

/** CUDA's own order may be another than nvidia-smi's where GPUs of several models are. */
function isVisible({ index, uuid }: GpuState, visible: string | undefined): boolean {
  if (visible === undefined) return true;
  const names = visible.split(',').map((name) => name.trim());
  // Slices of a GPU are not in the report: it is not known whose they are.
  if (names.some((name) => name.startsWith('MIG-'))) return true;
  return names.some((name) => name === String(index) || (name.startsWith('GPU-') && uuid?.startsWith(name) === true));
}

function clockLockOf(uuid: string | null, env: EnvironmentVariables): string | null {
  if (uuid === null) return null;
  const record = readRecord(join(lockFolder(env), clockRecordName(uuid)));
  if (record === null || ownerState(record.owner) === 'gone') return null;
  return `${record.policy} by a bench that runs (process ${record.owner.pid})`;
}
