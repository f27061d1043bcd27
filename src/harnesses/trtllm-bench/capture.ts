/** A range of iterations of a TensorRT-LLM engine: `100-150`. */
export interface ProfilingWindow {
  readonly from: number;
  readonly to: number;
}

export function readWindow(text: string): ProfilingWindow | null {
  const [, from, to] = /^(\d{1,9})-(\d{1,9})$/.exec(text.trim()) ?? [];
  if (from === undefined || to === undefined || Number(from) >= Number(to)) return null;
  return { from: Number(from), to: Number(to) };
}

/** Trace options for a Python harness, from TensorRT-LLM's page on performance analysis. */
const TRTLLM_TRACE = 'cuda,nvtx,python-gil';

/** Variables for the environment of nsys, which passes them on. */
export function trtllmVariables({ from, to }: ProfilingWindow): Record<string, string> {
  return { TLLM_PROFILE_START_STOP: `${from}-${to}` };
}

/**
 * The arguments of `nsys` for a harness of TensorRT-LLM. They limit the capture to the window, and record the garbage
 * collector and the interpreter lock.
 */
export function trtllmArgs(output: string, command: readonly string[]): string[] {
  const variables = [
    'TLLM_PROFILE_RECORD_GC=1',
    'TLLM_LLMAPI_ENABLE_NVTX=1',
    `TLLM_TORCH_PROFILE_TRACE=${output}.json`,
  ];
  const traced = `-f true -t ${TRTLLM_TRACE} -c cudaProfilerApi --cuda-graph-trace node`.split(' ');
  return ['profile', '-o', output, ...traced, '-e', variables.join(','), '--trace-fork-before-exec=true', ...command];
}
