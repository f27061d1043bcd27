/** Flags of trtexec that fields of a cell stand for. */
export const CELL_FLAGS = [
  '--shapes',
  '--useCudaGraph',
  '--noCudaGraph',
  '--noDataTransfers',
  '--includeDataTransfers',
  '--useSpinWait',
  '--noSpinWait',
  '--infStreams',
  '--streams',
] as const;
