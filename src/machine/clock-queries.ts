import type { SupportedClocks } from './clock-request.ts';
import type { AskNvidiaSmi } from '../tools/nvidia-smi/nvidia-smi.ts';

export interface LockableGpu {
  readonly gpuUuid: string;
  readonly gpuName: string;
}

/** What the GPU can be locked to; empty lists when it does not say so. */
export function supportedClocks(ask: AskNvidiaSmi, gpu: LockableGpu): SupportedClocks {
  const { text } = ask([
    '-i',
    gpu.gpuUuid,
    '--query-supported-clocks=memory,graphics',
    '--format=csv,noheader,nounits',
  ]);
  return parseSupportedClocks(text);
}

/** `3201, 1980`, one line a combination; anything else (`[N/A]`, a refusal) lists no clocks. */
export function parseSupportedClocks(text: string): SupportedClocks {
  const pairs = [...text.matchAll(/^\s*(\d+)\s*,\s*(\d+)\s*$/gm)].map(([, memory, graphics]): [number, number] => [
    Number(memory),
    Number(graphics),
  ]);
  const memoryMhz = [...new Set(pairs.map(([memory]) => memory))].toSorted((a, b) => b - a);
  const ofHighest = pairs.filter(([memory]) => memory === memoryMhz[0]);
  const graphicsMhz = [...new Set(ofHighest.map(([, graphics]) => graphics))];
  return { memoryMhz, graphicsMhz: graphicsMhz.toSorted((a, b) => b - a) };
}

/** Null when the GPU does not tell it. */
export function graphicsClockMhz(ask: AskNvidiaSmi, gpu: LockableGpu): number | null {
  const { text } = ask(['-i', gpu.gpuUuid, '--query-gpu=clocks.current.graphics', '--format=csv,noheader,nounits']);
  return /^\d+$/.test(text) ? Number(text) : null;
}
