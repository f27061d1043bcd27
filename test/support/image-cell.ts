import { keyedCell, type KeyedCell } from '../../src/records/cell.ts';

type CellIdentity = Parameters<typeof keyedCell>[0];

/** A cell as most made-up ones are: of images, with a CUDA graph, and without copies of inputs and outputs. */
export function imageCell({
  batch,
  ...stated
}: Pick<CellIdentity, 'model' | 'precision'> & Partial<CellIdentity> & { readonly batch: number }): KeyedCell {
  return keyedCell({
    precisionVia: 'onnx',
    shapes: { input: [batch, 3, 224, 224] },
    cudaGraph: true,
    dataTransfers: false,
    streams: 1,
    spinWait: true,
    inputs: { kind: 'random' },
    axisFlags: {},
    ...stated,
  });
}
