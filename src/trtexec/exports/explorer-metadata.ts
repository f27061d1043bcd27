import * as z from 'zod';

import type { Shapes } from '../../records/cell.ts';
import { ExportFormatError } from '../../errors.ts';
import { parseJson } from './json-repair.ts';

const metadataSchema = z.object({
  inference_options: z.record(z.string(), z.unknown()).default({}),
  device_information: z.record(z.string(), z.unknown()).default({}),
});

/** What trt-engine-explorer extracted from trtexec's log; null if not stated. */
export type ExplorerMetadata = ReturnType<typeof parseExplorerMetadata>;

export const NO_METADATA: ExplorerMetadata = {
  shapes: null,
  cudaGraph: null,
  dataTransfers: null,
  spinWait: null,
  streams: null,
  gpuName: null,
};

/**
 * Parses `*.profile.metadata.json` of trt-engine-explorer.
 * @throws ExportFormatError for any other file
 */
export function parseExplorerMetadata(text: string) {
  const { success, data } = metadataSchema.safeParse(parseJson(text));
  if (!success) throw new ExportFormatError('no "inference_options": not of trt-engine-explorer');
  const options = data.inference_options;
  const gpuName = data.device_information['Selected Device'];
  const streams = Number(options['Streams']);
  return {
    shapes: shapesOf(options['Input inference shape']),
    cudaGraph: switchOf(options['CUDA Graph']),
    dataTransfers: switchOf(options['Data transfers']),
    spinWait: switchOf(options['Spin-wait']),
    streams: Number.isInteger(streams) && streams > 0 ? streams : null,
    gpuName: typeof gpuName === 'string' ? gpuName : null,
  };
}

function switchOf(value: unknown): boolean | null {
  return value === 'Enabled' ? true : value === 'Disabled' ? false : null;
}

function shapesOf(value: unknown): Shapes | null {
  const [, input = '', dims] = /^(.+)=(\d+(?:x\d+)*)$/.exec(String(value)) ?? [];
  return dims === undefined ? null : { [input]: dims.split('x').map(Number) };
}
