import { CELL_FLAGS } from '../flags/cell-flags.ts';
import type { UnfitReason } from '../../records/outcome.ts';
import type { RequestedOptions } from '../run-facts.ts';
import type { TrtexecRun } from './parsed-log.ts';

interface Difference {
  readonly reason: UnfitReason;
  readonly text: string;
}

/** The first option that was asked for and that trtexec, by its banner, did not use; null when all were. */
export function differingOption(run: TrtexecRun, requested: RequestedOptions, buildOnly: boolean): Difference | null {
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
      return { reason: 'optionsDiffer', text: `asked for ${name}: ${asked}, the banner says ${used}` };
    }
  }
  return differingShape(run, requested);
}

/** What makes another measurement of it. Values that are paths go by their last part. */
const MEASURED_FLAGS = ['--loadEngine', ...CELL_FLAGS, '--fp16', '--bf16', '--int8', '--fp8', '--best'];

/** The first flag that the first line of the log and a command line stated beside it do not share, in words. */
export function contradictedArgument({ commandLine }: TrtexecRun, argv: readonly string[] | null): string | null {
  if (commandLine === null || argv === null) return null;
  // A script that calls trtexec says nothing of the flags that it gives.
  if (!argv.some((arg) => /^--(?:loadEngine|onnx)=/.test(arg))) return null;
  const [stated, printed] = [argv, commandLine.trim().split(/ (?=--)/)];
  for (const flag of MEASURED_FLAGS) {
    const [said, ran] = [argumentOf(stated, flag), argumentOf(printed, flag)];
    if (said !== ran) {
      return `run.json says ${said ?? `no ${flag}`}, the first line of its log ${ran ?? `no ${flag}`}: it is of another run`;
    }
  }
  return null;
}

function argumentOf(args: readonly string[], flag: string): string | null {
  const found = args.find((arg) => arg === flag || arg.startsWith(`${flag}=`))?.trim();
  return found === undefined || flag !== '--loadEngine'
    ? (found ?? null)
    : `${flag}=${found.slice(flag.length + 1).replace(/^.*[/\\]/s, '')}`;
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
