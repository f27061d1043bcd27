import type { RunMark } from '../../records/run-flag.ts';

/** An experiment that people know by its name. */
export interface NamedExperiment {
  readonly name: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly significantPercent: number;
  readonly marks: readonly RunMark[];
  /** False where trtexec reads none of the variables. */
  readonly isForTrtexec: boolean;
  readonly notes: readonly string[];
}

/**
 * TensorRT-LLM's perfect router: docs/source/developer-guide/perf-analysis.md of its repository, in the part that came on
 * 2025-12-26 (pull request 10303), with the threshold of 10 %; the models as a later copy of it names them. Every model
 * needs code of its own for it.
 */
const PERFECT_ROUTER: NamedExperiment = {
  name: 'perfect-router',
  variables: { ENABLE_PERFECT_ROUTER: '1' },
  significantPercent: 10,
  marks: ['upperBound', 'invalidOutput'],
  isForTrtexec: false,
  notes: [
    "TensorRT-LLM's page names GPT-OSS and DeepSeek-V3/R1 for it (perf-analysis.md; another version may name others); a model that does not know the switch is the same on both sides, and looks like no bottleneck",
  ],
};

export const NAMED_EXPERIMENTS: readonly NamedExperiment[] = [PERFECT_ROUTER];
