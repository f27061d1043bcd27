import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { ownMetricNamed } from '../../records/metric.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { type ExplainedMetric, EXPLAINED_METRICS } from '../../records/cause.ts';

function explainedMetric(name: string): ExplainedMetric {
  const id = name === 'gpu-mean' ? 'gpuComputeMeanMs' : (ownMetricNamed(name) ?? name);
  if (isOneOf(EXPLAINED_METRICS, id)) return id;
  throw new InvalidArgumentError('It explains gpu, gpu-mean, latency, throughput, enqueue.');
}

const define = (command: PlainCommand) =>
  command
    .arguments('[cell] [base] [head]')
    .addOption(
      new Option('--metric <name>', 'the change to explain (default: the first metric that changed)')
        .choices(['gpu', 'gpu-mean', 'latency', 'throughput', 'enqueue'])
        .argParser(explainedMetric),
    );

export type WhyOptions = OptionsOf<typeof define>;

export const whyCommand = defineCommand({
  name: 'why',
  summary: 'rank the likely causes of a change, with evidence',
  examples: [
    "bench why 'model=vit & batch=8 & cudaGraph=on'      # between the last two sweeps",
    'bench why 1a2b3c4d HEAD~1 HEAD --metric latency',
    'bench why                                         # the only open finding of bench check',
    'bench why 6f1c248c                                # a finding by its id',
    "bench why 'model=vit & batch=8' precision=fp16 precision=fp8",
    'bench why runs/before runs/after                  # two folders of one cell',
  ],
  notes: 'Use why for the causes of a change; bench layers --diff lists every layer that changed.',
  outputs: { why: async () => (await import('./text.ts')).why },
  define,
  run: async (words, options, io) => {
    const stated = words.filter((word) => word !== undefined);
    return (await import('./why.ts')).why(stated, options, io);
  },
});
