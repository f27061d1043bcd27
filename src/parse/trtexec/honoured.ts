import type { UnfitReason } from '../../domain/outcome.ts';
import type { RequestedOptions } from '../../domain/run-facts.ts';
import type { TrtexecRun } from '../../domain/trtexec-log.ts';

interface Difference {
  readonly reason: UnfitReason;
  readonly text: string;
}

/** The first option that was asked for and that trtexec, by its banner, did not use; null when all were. */
export function differingOption(
  run: TrtexecRun,
  requested: RequestedOptions,
  buildOnly: boolean,
): Difference | null {
  const { options } = run;
  const { precisionWord } = requested;
  if (precisionWord !== undefined && options.precision !== null) {
    if (!options.precision.includes(precisionWord)) {
      return {
        reason: 'precisionIgnored',
        text: `asked for ${precisionWord}, the banner says "Precision: ${options.precision}"`,
      };
    }
  }
  if (buildOnly) return null;
  const pairs = [
    ['CUDA graph', requested.cudaGraph, options.cudaGraph],
    ['data transfers', requested.dataTransfers, options.dataTransfers],
    ['spin wait', requested.spinWait, options.spinWait],
    ['streams', requested.streams, options.streams],
  ] as const;
  for (const [name, asked, used] of pairs) {
    if (asked !== undefined && used !== null && asked !== used) {
      return {
        reason: 'optionsDiffer',
        text: `asked for ${name}: ${asked}, the banner says ${used}`,
      };
    }
  }
  return differingShape(run, requested);
}

function differingShape(run: TrtexecRun, requested: RequestedOptions): Difference | null {
  const used = Object.keys(run.options.shapes).length > 0 ? run.options.shapes : run.inputBindings;
  for (const [input, asked] of Object.entries(requested.shapes ?? {})) {
    const actual = used[input];
    if (actual !== undefined && actual.join('x') !== asked.join('x')) {
      return {
        reason: 'optionsDiffer',
        text: `asked for ${input}:${asked.join('x')}, it ran with ${actual.join('x')}`,
      };
    }
  }
  return null;
}
