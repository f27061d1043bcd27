/** What an export of Nsight Systems says, in nanoseconds since the first event of the capture. */
export interface NsysTrace {
  /** Version of Nsight Systems, and of the schema that it wrote; null where it does not say. */
  readonly product: string | null;
  readonly schema: string | null;
  /** By their start. */
  readonly kernels: readonly TracedKernel[];
  readonly calls: readonly TracedCall[];
  readonly ranges: readonly TracedRange[];
  readonly graphNodes: readonly TracedGraphNode[];
  readonly copies: readonly TracedCopy[];
}

export interface TracedSpan {
  readonly startNs: number;
  readonly endNs: number;
}

/** A thread, and a process, are told apart by what stands for them in the export: text, as they have 64 bits. */
export interface TracedKernel extends TracedSpan {
  readonly device: number;
  readonly name: string;
  readonly process: string;
  /** Names the call that launched it, within its process; null where nothing says. */
  readonly correlation: number | null;
  /** Null for one that was launched by itself. */
  readonly graphNode: string | null;
}

/** A call of the CUDA runtime or driver. */
export interface TracedCall extends TracedSpan {
  readonly name: string;
  readonly thread: string;
  readonly process: string;
  readonly correlation: number | null;
}

/** A push/pop range of NVTX: TensorRT opens one for each layer. Those of one thread nest. */
export interface TracedRange extends TracedSpan {
  readonly name: string;
  readonly thread: string;
}

/** The making of a node of a CUDA graph, while it was captured or when it was instantiated. */
export interface TracedGraphNode {
  readonly startNs: number;
  readonly thread: string;
  readonly process: string;
  readonly node: string;
  /** The node that it was cloned from; null for one that is no clone. */
  readonly original: string | null;
}

/** A copy, or memory that was set. */
export interface TracedCopy extends TracedSpan {
  readonly device: number;
  readonly kind: string;
  readonly bytes: number;
}
