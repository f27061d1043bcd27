import { capturedRun, ownArgs } from '../nsys/nsys-args.ts';

/**
 * Special characters of Nsight Compute in the name of a range. Source: its command line guide, "NVTX Filtering". ncu
 * 2025.3.1 on an H200 found ranges with such names only in this form; a backslash is literal there.
 */
const QUANTIFIERS = /[@,[\]/*+]/g;

/**
 * Arguments of `ncu` for the kernels of one layer. They turn the CUDA graph off, because its launch is in no range of a
 * layer.
 */
export function layerNcuArgs(
  layer: string,
  output: string,
  is11: boolean,
  program: readonly string[],
  runArgs: readonly string[],
  engine: string,
): string[] {
  const own = ownArgs(runArgs).filter((arg) => arg !== '--useCudaGraph');
  const range = `TensorRT@${layer.replace(QUANTIFIERS, String.raw`\$&`)}/`;
  const options = ['--nvtx', '--nvtx-include', range, '--profile-from-start', 'off', '--set', 'full', '-o', output];
  return [
    ...options,
    ...program,
    '--profilingVerbosity=detailed',
    ...capturedRun(engine, 1),
    ...own,
    ...(is11 && !own.includes('--noCudaGraph') ? ['--noCudaGraph'] : []),
  ];
}
