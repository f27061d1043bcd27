import type { AbExperiment } from '../../judge/experiment.ts';
import { UsageError } from '../../errors.ts';
import { TELEMETRY_VARIABLE } from '../../process/environment-variables.ts';
import { printable } from '../../text/printable.ts';
import type { AbOptions } from './command.ts';
import type { RunMark } from '../../records/run-flag.ts';
import { isSecret } from '../../text/secret-name.ts';

/** The requested experiment, before the cells are known. */
export interface ExperimentRequest extends Omit<AbExperiment, 'pairs' | 'before'> {
  /** False if trtexec reads none of the variables. */
  readonly isForTrtexec: boolean;
}

const SIGNIFICANT_PERCENT = 10;
const NAME = /^[^\p{C}]{1,100}$/u;

/** @throws UsageError when no variable is set, or one cannot be set */
export function readExperiment(options: AbOptions): ExperimentRequest {
  const preset = NAMED_EXPERIMENTS.find(({ name }) => name === options.experiment) ?? null;
  const stated = Object.fromEntries((options.env ?? []).map(readVariable));
  const variables = { ...preset?.variables, ...stated };
  if (Object.keys(variables).length === 0) {
    throw new UsageError(
      'what is B? Name a variable, --env NAME=VALUE, or a known experiment, --experiment perfect-router',
    );
  }
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const name = options.name ?? preset?.name ?? settings.join(' ').slice(0, 100);
  if (!NAME.test(name)) throw new UsageError('--name: write 1 to 100 characters that can be printed');
  const marks = new Set<RunMark>(preset?.marks);
  if (options.upperBound === true) marks.add('upperBound');
  if (options.invalidOutput === true) marks.add('invalidOutput');
  return {
    name,
    variables,
    significantPercent: options.significant ?? preset?.significantPercent ?? SIGNIFICANT_PERCENT,
    metric: options.metric ?? null,
    marks: [...marks],
    notes: preset?.notes ?? [],
    isForTrtexec: preset?.isForTrtexec ?? true,
  };
}

function readVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`--env ${printable(text)}: write NAME=VALUE`);
  }
  if (isSecret(name, value)) {
    throw new UsageError(
      `--env ${printable(name)}: its value would be stored, and this looks like a secret: set it in the environment that bench is started in`,
    );
  }
  return [name, value];
}

export const NAMED_EXPERIMENTS: readonly Omit<ExperimentRequest, 'metric'>[] = [
  {
    /**
     * The perfect router of TensorRT-LLM. Source: docs/source/developer-guide/perf-analysis.md of its repository, added
     * on 2025-12-26 (pull request 10303), with a threshold of 10 %; the models are from a later copy. Each model needs
     * special code for it.
     */
    name: 'perfect-router',
    variables: { ENABLE_PERFECT_ROUTER: '1' },
    significantPercent: 10,
    marks: ['upperBound', 'invalidOutput'],
    isForTrtexec: false,
    notes: [
      "TensorRT-LLM's page names GPT-OSS and DeepSeek-V3/R1 for it (perf-analysis.md; another version may name others); a model that does not know the switch is the same on both sides, and looks like no bottleneck",
    ],
  },
  {
    /** The cost of telemetry for the runs that it watches. */
    name: 'telemetry',
    variables: { [TELEMETRY_VARIABLE]: 'off' },
    significantPercent: 1,
    marks: [],
    isForTrtexec: true,
    notes: [
      'A has nvidia-smi next to it, once a second, as every sweep; B has none: what B gains is what telemetry costs',
    ],
  },
];
