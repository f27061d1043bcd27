import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { positiveInteger, listOf } from '../../cli/options.ts';
import { LAYER_GROUPINGS } from '../../records/layer-info.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[what]')
    .usage('[options] [what] [--diff BASE HEAD]')
    .option('--diff <sides...>', 'compare two sides: commits, sweeps, runs, builds, expressions or folders')
    .option('--at <ref>', 'use this sweep, commit or baseline')
    .addOption(new Option('--sort <order>', 'order of the layers').choices(['time', 'index', 'name']).default('time'))
    .option('--select <text>', 'only layers whose name, ONNX node, type or tactic contains this; * matches any text')
    .option('--regex', '--select is a regular expression')
    .option('--agg', 'one line for all selected layers: count, total, share, min, mean, max')
    .addOption(new Option('--group-by <list>', `sum up by: ${LAYER_GROUPINGS.join(', ')}`).argParser(layerGroupings))
    .option(
      '--onnx <file>',
      'the ONNX model, for FLOPs and the share of the peak: by default the one that bench built from',
    )
    .option('--runs <n>', 'number of runs that a trace sums up', positiveInteger)
    .option('--depth <n>', 'number of path parts in a scope', positiveInteger, 2)
    .option('--top <n>', 'number of lines', positiveInteger, 20)
    .option('--all', 'show all lines')
    .option(
      '--kernels [file]',
      'kernels of a capture of Nsight Systems, with their ONNX nodes: the attached one, or this SQLite export',
    );

export type LayersOptions = OptionsOf<typeof define>;

export const layersCommand = defineCommand({
  name: 'layers',
  summary: 'show the time of each layer of an engine; --diff compares two engines',
  examples: [
    "bench layers 'model=vit & batch=8'            # the newest profile of a cell",
    'bench layers 1a2b3c4d --group-by block        # of a run, summed by block of the network',
    "bench layers vit --select 'attn.*Softmax' --regex --agg   # their total",
    'bench layers vit --diff latest~1 latest       # matched by ONNX nodes, through other fusions',
    'bench layers "model=vit & batch=8" --diff precision=fp16 precision=fp8',
    'bench layers --diff runs/before runs/after    # two folders with profile.json, layers.json',
    'bench layers engine.trace --runs 100          # of Torch-TensorRT, which sums its times over all runs',
    "bench layers vit --onnx models/vit.onnx       # FLOPs, share of the GPU's peak, roofline",
    'bench layers 1a2b3c4d --kernels               # the newest capture: its kernels',
  ],
  notes: 'Use layers --diff for every layer that changed; bench why ranks the causes of a change.',
  outputs: {
    layers: async () => (await import('./output.ts')).layers,
    'layers-diff': async () => (await import('./output.ts')).layersDiff,
    'layers-kernels': async () => (await import('./output.ts')).layersKernels,
  },
  define,
  run: async ([what], options, io) => (await import('./layers.ts')).listLayers(what, options, io),
});

const layerGroupings = listOf(LAYER_GROUPINGS);
