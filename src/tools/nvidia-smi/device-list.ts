import type { GpuReport } from './gpu-report.ts';

export interface GpuDevice {
  /** `GPU-…` or `MIG-…`. */
  readonly uuid: string;
  /** `NVIDIA H200`; for a MIG device with its profile: `NVIDIA H200 MIG 1g.18gb`. */
  readonly name: string;
  /** nvidia-smi's number of the GPU. */
  readonly index: number;
  /** The GPU of a MIG device; otherwise equal to `uuid`. */
  readonly boardUuid: string;
}

/** A short label: `GPU 2`, or `GPU 2 MIG-1a2b3c4d`. */
export function deviceLabel({ boardUuid, index, uuid }: GpuDevice): string {
  return uuid === boardUuid ? `GPU ${index}` : `GPU ${index} ${uuid.slice(0, 12)}`;
}

const GPU_LINE = /^GPU (\d+): (.+) \(UUID: (GPU-[\w-]+)\)/;
/** Matches `  MIG 1g.18gb     Device  0: (UUID: MIG-c7384736-…)`; before R470 the UUID was `MIG-GPU-…/7/0`. */
const MIG_LINE = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[\w/-]+)\)/;

/**
 * Parses `nvidia-smi -L`. For a divided GPU it returns only the MIG devices, because CUDA programs can use nothing
 * else.
 */
export function parseDeviceList(text: string): GpuDevice[] {
  const devices: GpuDevice[] = [];
  let board: GpuDevice | null = null;
  for (const line of text.split('\n')) {
    const [, index, name, uuid] = GPU_LINE.exec(line) ?? [];
    if (index !== undefined && name !== undefined && uuid !== undefined) {
      board = { uuid, name, index: Number(index), boardUuid: uuid };
      devices.push(board);
      continue;
    }
    const [, profile, migUuid] = MIG_LINE.exec(line) ?? [];
    if (board === null || profile === undefined || migUuid === undefined) continue;
    if (devices.at(-1) === board) devices.pop();
    devices.push({ ...board, uuid: migUuid, name: `${board.name} MIG ${profile}` });
  }
  return devices;
}

export function devicesOfReport({ gpus }: GpuReport): GpuDevice[] {
  return gpus.flatMap(({ index, name, uuid }) =>
    uuid === null ? [] : [{ uuid, name: name ?? 'GPU', index, boardUuid: uuid }],
  );
}

/**
 * Devices that a process may use according to `CUDA_VISIBLE_DEVICES`; all if it is unset. Numbers are those of
 * nvidia-smi, as with `CUDA_DEVICE_ORDER=PCI_BUS_ID`. Like CUDA, it stops at the first invalid entry.
 */
export function visibleDevices(devices: readonly GpuDevice[], visible: string | undefined): GpuDevice[] {
  if (visible === undefined) return [...devices];
  const chosen: GpuDevice[] = [];
  for (const entry of visible.split(',').map((part) => part.trim())) {
    const found = devicesNamed(devices, entry);
    if (found.length === 0) break;
    chosen.push(...found);
  }
  return chosen;
}

/** Devices by number (all MIG devices of that GPU), or by UUID prefix; empty if none or more than one matches. */
export function devicesNamed(devices: readonly GpuDevice[], name: string): GpuDevice[] {
  if (/^\d+$/.test(name)) return devices.filter(({ index }) => index === Number(name));
  if (!/^(?:GPU|MIG)-./.test(name)) return [];
  const ofBoard = devices.filter(({ boardUuid }) => boardUuid === name);
  if (ofBoard.length > 0) return ofBoard;
  const found = devices.filter(({ uuid }) => uuid.startsWith(name));
  return found.length === 1 ? found : [];
}
