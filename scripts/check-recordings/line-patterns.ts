/**
 * Lines of trtexec that carry figures, as whole lines of text. Numbers are taken as whatever is in their place: a
 * format that the program's own parser does not know must show up here as a difference.
 */
export interface LinePattern {
  readonly pattern: RegExp;
  /** One key for each group of the pattern. */
  readonly keys: readonly string[];
  /** True where words stand instead of figures. */
  readonly isWord?: true;
}

export const OPTION_SECTIONS = ['Model', 'Build', 'System', 'Inference', 'Reporting'] as const;

type OptionSection = (typeof OPTION_SECTIONS)[number];

/** Anywhere in a run; a later line replaces an earlier one. */
export const PHASE_LINES: readonly LinePattern[] = [
  { pattern: /^Engine built in (\S+) sec/, keys: ['engineBuiltS'] },
  { pattern: /^Created engine with size: (\S+) MiB/, keys: ['createdEngineMib'] },
  {
    pattern: /^\[MemUsageStats\] Peak memory usage of TRT CPU\/GPU memory allocators: CPU \d+ MiB, GPU (\S+) MiB/,
    keys: ['peakMemoryMib'],
  },
  { pattern: /^Loaded engine (?:with )?size: (\S+) MiB/, keys: ['loadedEngineMib'] },
  { pattern: /^Engine (?:deserialized|loaded) in (\S+) sec/, keys: ['deserializedS'] },
  { pattern: /^Created execution context with device memory size: (\S+) MiB/, keys: ['contextMemoryMib'] },
  { pattern: /^Warmup completed (\S+) queries over /, keys: ['warmUpQueries'] },
  { pattern: /^Timing trace has (\S+) queries over /, keys: ['queries'] },
];

const SKIP: LinePattern = {
  pattern: /^(?:Skip inference|Build only): (Enabled|Disabled)/,
  keys: ['skipInference'],
  isWord: true,
};
const NVTX: LinePattern = { pattern: /^NVTX verbosity: (\S+)/, keys: ['nvtxVerbosity'] };

/** By the section of the banner, `=== NAME Options ===`; up to 8.0 some lines stand in another one. */
export const OPTION_LINES: Readonly<Record<OptionSection, readonly LinePattern[]>> = {
  Model: [{ pattern: /^Model: (\S.*)/, keys: ['onnx'], isWord: true }],
  Build: [
    SKIP,
    NVTX,
    // Without build options, as with a loaded engine, the other line says the same.
    { pattern: /^Profiling verbosity: (\S+)/, keys: ['profilingVerbosity'] },
    { pattern: /^BuilderOptimizationLevel: (\S+)/, keys: ['builderOptimizationLevel'] },
    { pattern: /^Precision: (.*\S)/, keys: ['precision'], isWord: true },
    { pattern: /^Load engine: (\S.*)/, keys: ['loadEngine'], isWord: true },
    { pattern: /^Save engine: (\S.*)/, keys: ['saveEngine'], isWord: true },
  ],
  System: [{ pattern: /^Device: (\S+)/, keys: ['deviceId'] }],
  Inference: [
    SKIP,
    NVTX,
    { pattern: /^Iterations: (.+)/, keys: ['iterations'] },
    { pattern: /^Duration: (\S+)s \(\+ (\S+)ms warm up\)/, keys: ['durationS', 'warmUpMs'] },
    { pattern: /^Sleep time: (\S+)ms/, keys: ['sleepMs'] },
    { pattern: /^Idle time: (\S+)ms/, keys: ['idleMs'] },
    { pattern: /^(?:Inference )?Streams: (\S+)/, keys: ['streams'] },
    { pattern: /^ExposeDMA: (Enabled|Disabled)/, keys: ['exposeDma'], isWord: true },
    { pattern: /^Data transfers: (Enabled|Disabled)/, keys: ['dataTransfers'], isWord: true },
    { pattern: /^Spin-wait: (Enabled|Disabled)/, keys: ['spinWait'], isWord: true },
    { pattern: /^Multithreading: (Enabled|Disabled)/, keys: ['multithreading'], isWord: true },
    { pattern: /^CUDA Graph: (Enabled|Disabled)/, keys: ['cudaGraph'], isWord: true },
    { pattern: /^Separate profiling: (Enabled|Disabled)/, keys: ['separateProfiling'], isWord: true },
  ],
  Reporting: [
    { pattern: /^Averages: (\S+) inferences/, keys: ['averageRuns'] },
    { pattern: /^Percentiles?: (\S+)/, keys: ['percentiles'], isWord: true },
    { pattern: /^Profile: (Enabled|Disabled)/, keys: ['profile'], isWord: true },
    { pattern: /^Export timing to JSON file: (\S.*)/, keys: ['exportTimes'], isWord: true },
    { pattern: /^Export profile to JSON file: (\S.*)/, keys: ['exportProfile'], isWord: true },
    { pattern: /^Export output to JSON file: (\S.*)/, keys: ['exportOutput'], isWord: true },
  ],
};

/** Below `=== Device Information ===`. */
export const DEVICE_LINES: readonly LinePattern[] = [
  { pattern: /^Selected Device: (.*\S)/, keys: ['device.name'], isWord: true },
  { pattern: /^Selected Device UUID: (\S+)/, keys: ['device.uuid'], isWord: true },
  { pattern: /^Compute Capability: (\S+)/, keys: ['device.computeCapability'], isWord: true },
  { pattern: /^Device (?:Global )?Memory: (\S+) MiB/, keys: ['device.globalMemoryMib'] },
];

/** Numbers that TensorRT prints with a remark, on either stream. */
export const REMARKS: readonly { readonly id: string; readonly pattern: RegExp }[] = [
  { id: 'unstable', pattern: /with coefficient of variance = (\S+)%/ },
  { id: 'aux_streams', pattern: /The engine uses (\S+) auxiliary streams/ },
  { id: 'cache_loaded', pattern: /Loaded (\S+) bytes of (?:timing )?cache from / },
  { id: 'cache_saved', pattern: /Saved (\S+) bytes of timing cache to / },
];
