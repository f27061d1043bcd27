import type { Evidence } from '../../records/outcome.ts';
import type { LogMessage } from './log-lines.ts';
import { finiteOrNull, type PhaseFacts, printedPattern } from './printed-facts.ts';

export interface Hint extends Evidence {
  /** An ID of `HINT_RULES`. */
  readonly id: string;
  /** The hint's number, such as the coefficient of variance in percent. */
  readonly value: number | null;
}

/**
 * Hints of 8.0 to 11.x. A pattern matches anywhere in the message; its first group, if any, is the hint's number. To
 * add one: one line here, one line of a real log in `test/trtexec/log/lines/hints.tsv`.
 */
export const HINT_RULES: readonly { readonly id: string; readonly pattern: RegExp }[] = [
  { id: 'enqueue_bound', pattern: /Throughput may be bound by Enqueue Time rather than/ },
  { id: 'h2d_bound', pattern: /Throughput may be bound by host-to-device transfers/ },
  { id: 'd2h_bound', pattern: /Throughput may be bound by device-to-host transfers/ },
  { id: 'unstable', pattern: printedPattern('GPU compute time is unstable, with coefficient of variance = (N)%', '') },
  { id: 'multi_stream', pattern: /Multiple inference streams are used\. Latencies may not be/ },
  { id: 'aux_streams', pattern: /The engine uses (\d+) auxiliary streams/ },
  { id: 'graph_capturing', pattern: /Capturing CUDA graph for the current execution context/ },
  { id: 'graph_ok', pattern: /Successfully captured CUDA graph for the current/ },
  { id: 'graph_fail', pattern: /The CUDA graph capture on the stream has failed/ },
  { id: 'graph_fail', pattern: /operations that are not permitted under CUDA graph capture mode/ },
  { id: 'graph_fail', pattern: /The specified --useCudaGraph flag has been ignored/ },
  { id: 'graph_fail', pattern: /CUDA graph capture failed\. The inference will be launched/ },
  { id: 'graph_dla', pattern: /CUDA graphs and DLA offloading are not simultaneously supported/ },
  { id: 'graph_profiler', pattern: /Graph profiling only works with CUDA 11\.1 and beyond/ },
  { id: 'nsys', pattern: /Generating '.*\.qdstrm'/ },
  { id: 'profiler_miss', pattern: /Failed to collect layer timing info from previous/ },
  { id: 'weak_typing', pattern: /Weakly-typed networks have been deprecated/ },
  { id: 'strong_ignored', pattern: /Invalid usage, setting \w+ mode is not allowed if graph is strongly typed/ },
  { id: 'tf32_note', pattern: /TF32 is enabled by default\. Add --noTF32/ },
  { id: 'directio', pattern: /--directIO flag has been deprecated/ },
  { id: 'sparsity', pattern: /--sparsity=force has been deprecated/ },
  { id: 'deprecated_flag', pattern: /-\S+ (?:flag )?(?:has been|is) deprecated/ },
  { id: 'shape_default_build', pattern: /Dynamic dimensions required for input: .*but no shapes/ },
  { id: 'shape_default_run', pattern: /Shape missing for input with dynamic shape: .*Automatically setting/ },
  { id: 'shape_default_run', pattern: /Values missing for input shape tensor: .*Automatically setting/ },
  { id: 'shape_broadcast', pattern: /Shapes is being broadcasted to \w+Shapes for tensor/ },
  { id: 'multi_profile', pattern: /(\d+) profiles detected but not set|Multiple profiles are currently not supported/ },
  { id: 'pageable', pattern: /Allocate pageable host memory instead of pinned/ },
  { id: 'cache_new', pattern: /Could not read (?:timing )?cache from: / },
  { id: 'cache_loaded', pattern: /Loaded (\d+) bytes of (?:timing )?cache from / },
  { id: 'cache_saved', pattern: /Saved (\d+) bytes of timing cache to / },
  { id: 'cache_fail', pattern: /Failed to create ITimingCache from file|Detected invalid timing cache|myelinCache/ },
  { id: 'cache_fail', pattern: /setTimingCache failed with|Could not write timing cache to/ },
  { id: 'cache_fail', pattern: /The timing cache will not be used|Cannot open .*\.cache\.lock/ },
  { id: 'endless', pattern: /--duration=-1 is specified, inference will run in an endless loop/ },
  // From the closed-source library; its wording changes, so the patterns are loose.
  { id: 'workspace_low', pattern: /do not have sufficient workspace memory to run/ },
  { id: 'tactic_skipped', pattern: /Skipping tactic \S+ due to/ },
  { id: 'memory_refused', pattern: /Requested amount of GPU memory \((\d+) bytes\) could not/ },
  { id: 'engine_other_device', pattern: /engine plan file across different models of devices/ },
  { id: 'lazy_loading_off', pattern: /CUDA lazy loading is not enabled/ },
];

/** Two threads may merge their messages into one line, so every rule is tried; each counts once per line. */
export function findHints(message: LogMessage): Hint[] {
  const { stream, line, text } = message;
  const hints: Hint[] = [];
  for (const { id, pattern } of HINT_RULES) {
    const match = pattern.exec(text);
    if (match === null || hints.some((hint) => hint.id === id)) continue;
    hints.push({ id, stream, line, text: text.trim(), value: finiteOrNull(match[1]) });
  }
  // The generic rule is not given in addition to the flag's own.
  const specific = hints.filter(({ id }) => id !== 'deprecated_flag');
  return specific.some(({ id }) => id === 'directio' || id === 'sparsity') ? specific : hints;
}

/** Every log of its kind prints them: they are stored for their numbers and not shown as hints. */
export const REMARKS_FOR_NUMBERS = ['engine_loaded_s', 'engine_refitted_ms'] as const;

export function remarkNumbers({ deserializedS, refitMs }: Pick<PhaseFacts, 'deserializedS' | 'refitMs'>) {
  return { engine_loaded_s: deserializedS, engine_refitted_ms: refitMs };
}
