import { type Command, Option } from 'commander';

import { TREND_UNITS } from '../judge/trend.ts';
import { EXPLAINED_METRICS } from '../records/cause.ts';
import { LAYER_GROUPINGS } from '../layers/layer-info.ts';
import { PROVENANCES } from '../records/provenance.ts';
import type { Execute } from '../cli/execute.ts';
import {
  branchOption,
  command,
  failOnOption,
  filterOption,
  layerGroupings,
  metricOption,
  notEmpty,
  positiveInteger,
} from '../cli/options.ts';

/** What says something of results. */
export function addAnalyseCommands(program: Command, run: Execute): void {
  command(program, 'compare [base] [head]', 'what got slower between two commits, sweeps or baselines', [
    'bench compare                      # the last two sweeps of this branch',
    'bench compare HEAD~1               # this commit against the one before',
    'bench compare main..HEAD --metric throughputQps',
    'bench compare baseline:v1.2 latest --fail-on regression,unclear',
    'bench compare HEAD~1 --map         # changes by precision and batch',
  ])
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .addOption(failOnOption())
    .option('--map', 'the changes as a map of precision and batch')
    .option('--across-provenance', 'compare recorded with measured results all the same')
    .option('--across-gpu', 'compare results of different GPU models all the same')
    .option('--across-tensorrt', 'compare results of different TensorRT majors all the same')
    .option('--across-methods', 'compare medians of different harnesses all the same')
    .option('--across-clocks', 'compare results of locked and other clocks all the same')
    .action(async (base: string | undefined, head: string | undefined, options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).compare(base, head, options, io));
    });

  command(program, 'trend [cells...]', 'values of cells over nights, commits, sweeps or runs', [
    'bench trend',
    'bench trend vit_small --metric throughputQps',
    "bench trend 'model=vit* & batch=8' --together --by commit",
  ])
    .addOption(metricOption())
    .addOption(
      new Option('--by <unit>', 'a step of the time axis (default: by how much there is)').choices(TREND_UNITS),
    )
    .option('--last <n>', 'so many steps', positiveInteger, 90)
    .option('--height <n>', 'lines of a chart', positiveInteger, 10)
    .addOption(filterOption())
    .option('--branch <name>', 'only sweeps of this branch (default: all)', notEmpty)
    .addOption(
      new Option('--provenance <which>', 'only results of this kind (default: that of the newest)').choices(
        PROVENANCES,
      ),
    )
    .option('--together', "all cells in one chart, as change from each cell's first value")
    .action(async (names: string[], options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).trend(names, options, io));
    });

  command(program, 'check', 'the nightly gate: what the newest night says of all histories', [
    'bench check                       # exit code 1 when something got slower',
    'bench check --as-of 2026-03-04    # as it would be told that night; stores nothing',
  ])
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--as-of <night>', 'a date, a sweep, a commit: look at that night instead')
    .addOption(failOnOption())
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).check(options, io));
    });

  command(program, 'noise [cells...]', 'how far this machine and this matrix can be trusted', [
    'bench noise                        # measured false alarms, and the smallest change seen',
    'bench noise --want 1               # repeats that a change of 1 % takes, and GPU minutes',
    "bench noise 'model=vit* & batch=8' --metric throughputQps",
  ])
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--last <n>', 'so many sweeps, the newest', positiveInteger, 60)
    .option('--want <percent>', 'a change that should be seen', Number, 2)
    .action(async (names: string[], options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).noise(names, options, io));
    });

  command(
    program,
    'layers [what]',
    'where the time of an engine goes, layer by layer; --diff: what became of its layers',
    [
      "bench layers 'model=vit & batch=8'            # the newest profile of a cell",
      'bench layers 1a2b3c4d --group-by block        # of a run, summed by block of the network',
      "bench layers vit --select 'attn.*Softmax' --regex --agg   # what they take together",
      'bench layers vit --diff latest~1 latest       # matched by ONNX nodes, through other fusions',
      'bench layers "model=vit & batch=8" --diff precision=fp16 precision=fp8',
      'bench layers --diff runs/before runs/after    # two folders with profile.json, layers.json',
      'bench layers engine.trace --runs 100          # of Torch-TensorRT, which sums its times over all runs',
      'bench layers 1a2b3c4d --kernels               # the newest capture: kernels of each layer',
    ],
  )
    .option('--diff <sides...>', 'two sides: commits, sweeps, runs, expressions or folders')
    .option('--at <ref>', 'as it was in this sweep, commit or baseline')
    .addOption(new Option('--sort <order>', 'order of the layers').choices(['time', 'index', 'name']).default('time'))
    .option('--select <text>', 'only layers with this in name, ONNX node, type or tactic; * is any')
    .option('--regex', '--select is a regular expression')
    .option('--agg', 'one line for all that is chosen: count, total, share, least, mean, largest')
    .addOption(new Option('--group-by <list>', `sum up by: ${LAYER_GROUPINGS.join(', ')}`).argParser(layerGroupings))
    .option('--runs <n>', 'over how many runs the times of a trace are summed', positiveInteger)
    .option('--depth <n>', 'parts of the path that make a scope', positiveInteger, 2)
    .option('--top <n>', 'so many lines', positiveInteger, 20)
    .option('--all', 'every line')
    .option(
      '--kernels [file]',
      'kernels, launches and gaps of each layer, from a capture of Nsight Systems: attached, or this SQLite export',
    )
    .action(async (what: string | undefined, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).layers(what, options, io));
    });

  command(program, 'why [cell] [base] [head]', 'the likeliest causes of a change, ranked, with their evidence', [
    "bench why 'model=vit & batch=8 & cudaGraph=on'      # between the last two sweeps",
    'bench why 1a2b3c4d HEAD~1 HEAD --metric latencyMs',
    "bench why 'model=vit & batch=8' precision=fp16 precision=fp8",
    'bench why runs/before runs/after                  # two folders of one cell',
  ])
    .addOption(
      new Option('--metric <name>', 'the change to explain (default: the first that is real)').choices(
        EXPLAINED_METRICS,
      ),
    )
    .action(async (cell: string | undefined, base: string | undefined, head: string | undefined, options) => {
      const words = [cell, base, head].filter((word) => word !== undefined);
      await run(options, async (io) => (await import('./measuring-bundle.ts')).why(words, options, io));
    });

  command(program, 'ack <finding>', 'accept a finding of bench check: it stays silent until then', [
    'bench ack 1a2b3c4d --reason "new default precision" --until 2026-12-31',
    'bench ack 1a2b3c4d --reason "fixed by !412" --until v1.3   # until that commit is measured',
    'bench ack 1a2b3c4d --undo',
  ])
    .option('--reason <text>', 'why it may stay')
    .option('--until <when>', 'a date, or a commit that will be measured (default: for good)')
    .option('--undo', 'take the acceptance back')
    .action(async (finding: string, options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).ack(finding, options, io));
    });

  command(
    program,
    'bisect [good] [bad] [command...]',
    'the commit, or the factor, from which on a cell is slower: as many runs as the noise needs',
    [
      'bench bisect v1.2 HEAD --matrix nightly.yaml --cell "model=vit & batch=8" -- make -j8 engine',
      'bench bisect --factors factors.yaml --matrix nightly.yaml --cell 1a2b3c4d',
      'bench bisect --resume',
    ],
  )
    .option('--matrix <file>', 'the matrix; one of the repository is taken as each commit has it')
    .option('--cell <cell>', 'its one cell: key, label, model or expression')
    .option('--factors <file>', 'a table of other things than commits, each with good and bad')
    .addOption(metricOption())
    .option('--trtexec <path>', 'the trtexec to use; one of the repository as each commit has it')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
    .option('--max-runs <n>', 'runs of one commit, at most', positiveInteger, 30)
    .option('--no-telemetry', 'no nvidia-smi beside the runs')
    .option('--resume', 'go on with the newest one that was interrupted')
    .option('--restart', 'measure again what was decided earlier')
    .action(async (good: string | undefined, bad: string | undefined, words: string[], options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).bisect(good, bad, words, options, io));
    });

  command(program, 'detect <file>', 'the change-point detector on any series, without a store: JSON lines out', [
    'bench detect nights.csv                # date,value: each column of numbers is a history',
    'bench detect histories.jsonl           # {"id", "values": [1.02, null, 1.01, ...]}',
    'bench detect --ab cells.jsonl          # {"id", "a": [runs], "b": [runs]}: two sides',
  ])
    .option('--ab', 'two sides of each cell instead of histories')
    .addOption(new Option('--better <which>', 'which way is better').choices(['lower', 'higher']).default('lower'))
    .action(async (file: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).detect(file, options, io));
    });
}
