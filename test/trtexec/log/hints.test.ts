import { expect, test } from 'vitest';

import { HINT_RULES } from '../../../src/trtexec/log/hints.ts';
import { onlyRun } from '../../support/recordings.ts';

// One line for each rule, word for word from NVIDIA's sources (6.0 to 11.1) or from a real log.
const LINES: readonly (readonly [id: string, line: string, value: number | null])[] = [
  [
    'enqueue_bound',
    '[W] * Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be under-utilized.',
    null,
  ],
  [
    'h2d_bound',
    '[W] * Throughput may be bound by host-to-device transfers for the inputs rather than GPU Compute and the GPU may be under-utilized.',
    null,
  ],
  [
    'd2h_bound',
    '[W] * Throughput may be bound by device-to-host transfers for the outputs rather than GPU Compute and the GPU may be under-utilized.',
    null,
  ],
  ['unstable', '[W] * GPU compute time is unstable, with coefficient of variance = 11.624%.', 11.624],
  [
    'multi_stream',
    '[W] * Multiple inference streams are used. Latencies may not be accurate since inferences may run in   parallel. Please use "Throughput" as the performance metric instead.',
    null,
  ],
  [
    'aux_streams',
    '[W] The engine uses 3 auxiliary streams, so the "Total" latency may not be accurate because some layers may have run in parallel!',
    3,
  ],
  ['graph_capturing', '[I] Capturing CUDA graph for the current execution context', null],
  // Of nsys itself: without the severity that this test wants; as it is printed in bound-by.test.ts.
  ['nsys', "[I] Generating '/tmp/nsys-wili/nsys-report-5bde.qdstrm'", null],
  [
    'graph_ok',
    '[I] Successfully captured CUDA graph for the current execution context. When profiling with Nsight Systems, add "--cuda-graph-trace=node"',
    null,
  ],
  ['graph_fail', '[W] The CUDA graph capture on the stream has failed.', null],
  [
    'graph_fail',
    '[W] The built TensorRT engine contains operations that are not permitted under CUDA graph capture mode.',
    null,
  ],
  [
    'graph_fail',
    '[W] The specified --useCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.',
    null,
  ],
  ['graph_fail', '[W] CUDA graph capture failed. The inference will be launched without using CUDA graph.', null],
  [
    'graph_dla',
    '[W] CUDA graphs and DLA offloading are not simultaneously supported. The CUDA graph option has been disabled.',
    null,
  ],
  [
    'graph_profiler',
    '[W] Graph profiling only works with CUDA 11.1 and beyond. Ignored --useCudaGraph flag and disabled CUDA graph.',
    null,
  ],
  ['profiler_miss', '[W] Failed to collect layer timing info from previous enqueueV3()', null],
  [
    'weak_typing',
    '[W] Weakly-typed networks have been deprecated in TensorRT. You can use the AutoCast tool to convert the network to be strongly typed.',
    null,
  ],
  [
    'strong_ignored',
    '[W] Invalid usage, setting fp16 mode is not allowed if graph is strongly typed. Disabling BuilderFlag::kFP16.',
    null,
  ],
  [
    'tf32_note',
    '[I] TF32 is enabled by default. Add --noTF32 flag to further improve accuracy with some performance cost.',
    null,
  ],
  ['directio', '[W] --directIO flag has been deprecated', null],
  [
    'sparsity',
    '[W] --sparsity=force has been deprecated. Please use <polygraphy surgeon prune> to rewrite the weights.',
    null,
  ],
  ['deprecated_flag', '[W] --workspace flag has been deprecated by --memPoolSize flag.', null],
  [
    'shape_default_build',
    '[W] Dynamic dimensions required for input: input, but no shapes were provided. Automatically overriding shape to: 1x3x224x224',
    null,
  ],
  [
    'shape_default_run',
    '[W] Shape missing for input with dynamic shape: inputAutomatically setting shape to: 1x3x32x32',
    null,
  ],
  ['shape_default_run', '[W] Values missing for input shape tensor: sizeAutomatically setting values to: 1', null],
  ['shape_broadcast', '[W] optShapes is being broadcasted to minShapes for tensor input', null],
  [
    'multi_profile',
    '[W] 3 profiles detected but not set. Running with profile 0. Please use --dumpOptimizationProfile to see all available profiles.',
    3,
  ],
  ['multi_profile', '[W] Multiple profiles are currently not supported. Running with one profile.', null],
  [
    'pageable',
    '[W] Allocate pageable host memory instead of pinned host memory. H2D and D2H copy will be slower.',
    null,
  ],
  [
    'cache_new',
    '[W] [TRT] Could not read timing cache from: engines/timing.cache. A new timing cache will be generated and written.',
    null,
  ],
  ['cache_new', '[W] [TRT] Could not read cache from: a.cache. A new cache will be generated and written.', null],
  ['cache_loaded', '[I] [TRT] Loaded 8237897 bytes of timing cache from engines/timing.cache', 8237897],
  ['cache_loaded', '[I] [TRT] Loaded 12 bytes of cache from file: a.cache', 12],
  ['cache_saved', '[I] [TRT] Saved 8633293 bytes of timing cache to engines/timing.cache', 8633293],
  ['cache_fail', '[E] [TRT] Failed to create ITimingCache from file a.cache', null],
  [
    'endless',
    '[W] --duration=-1 is specified, inference will run in an endless loop until aborted with CTRL-C (SIGINT)',
    null,
  ],
  [
    'workspace_low',
    '[I] [TRT] Some tactics do not have sufficient workspace memory to run. Increasing workspace size may increase performance.',
    null,
  ],
  [
    'tactic_skipped',
    '[W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 21799552 detected for tactic 0x0.',
    null,
  ],
  [
    'memory_refused',
    '[W] [TRT] Requested amount of GPU memory (4096 bytes) could not be allocated. There may not be enough free memory.',
    4096,
  ],
  [
    'engine_other_device',
    '[W] [TRT] Using an engine plan file across different models of devices is not recommended and is likely to affect performance or even cause errors.',
    null,
  ],
  [
    'lazy_loading_off',
    '[W] [TRT] CUDA lazy loading is not enabled. Enabling it can significantly reduce device memory usage.',
    null,
  ],
];

test.each(LINES)('%s', (id, line, value) => {
  const run = onlyRun(`[11/21/2026-07:33:53] ${line}\n`);
  expect(run.hints.map((hint) => [hint.id, hint.value])).toEqual([[id, value]]);
});

test('every rule has a line here', () => {
  const shown = new Set(LINES.map(([id]) => id));
  expect(HINT_RULES.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
});

test('two messages in one line give two hints', () => {
  const glued =
    '[11/21/2026-07:33:53] [I] Capturing CUDA graph for the current execution context[11/21/2026-07:33:53] [I] Successfully captured CUDA graph for the current execution context\n';
  expect(onlyRun(glued).hints.map(({ id }) => id)).toEqual(['graph_capturing', 'graph_ok']);
});
