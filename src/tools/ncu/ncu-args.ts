import { capturedRun, ownArgs } from '../nsys/nsys-args.ts';

/**
 * Characters that Nsight Compute takes for itself in the name of a range: its command line guide, "NVTX Filtering".
 * ncu 2025.3.1 on an H200 found ranges of such names so, and no other; a backslash represents itself there.
 */
const QUANTIFIERS = /[@,[\]/*+]/g;

function layerRange(layer: string): string {
  return `TensorRT@${layer.replace(QUANTIFIERS, String.raw`\$&`)}/`;
}

/** Arguments of `ncu` for the kernels of one layer. Without a CUDA graph, whose launch is in no layer's range. */
export function layerNcuArgs(
  layer: string,
  output: string,
  is11: boolean,
  program: readonly string[],
  runArgs: readonly string[],
  engine: string,
): string[] {
  const own = ownArgs(runArgs).filter((arg) => arg !== '--useCudaGraph');
  const range = ['--nvtx', '--nvtx-include', layerRange(layer), '--profile-from-start', 'off'];
  return [
    ...range,
    '--set',
    'full',
    '-o',
    output,
    ...program,
    '--profilingVerbosity=detailed',
    ...capturedRun(engine, 1),
    ...own,
    ...(is11 && !own.includes('--noCudaGraph') ? ['--noCudaGraph'] : []),
  ];
}
