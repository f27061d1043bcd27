import type { OtherProcess } from '../../records/telemetry.ts';
import { numberOrNull } from './values.ts';

/** With it the work of every process runs through this one, also that of a run. */
const MPS_SERVER = /(?:^|\/)nvidia-cuda-mps-server$/;

/** Reads `nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader,nounits`. */
export function parseComputeApps(text: string): OtherProcess[] {
  return text.split('\n').flatMap((line) => {
    const [pid = '', memory, ...name] = line.split(',');
    if (!/^\d+$/.test(pid.trim())) return [];
    const process = { pid: Number(pid), name: name.join(',').trim(), memoryMib: numberOrNull(memory) };
    return MPS_SERVER.test(process.name) ? [] : [process];
  });
}
