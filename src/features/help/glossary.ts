export interface Term {
  /** The first is the one that messages use. */
  readonly words: readonly string[];
  readonly text: string;
  readonly see?: readonly string[];
}

/** By a word, in the singular or plural; case and hyphens do not matter. */
export function termNamed(topic: string): Term | undefined {
  const asked = plain(topic);
  return asked === ''
    ? undefined
    : GLOSSARY.find(({ words }) => words.some((word) => formsOf(plain(word)).includes(asked)));
}

function plain(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[-_ ]+/g, ' ');
}

function formsOf(word: string): string[] {
  return [word, `${word}s`, word.replace(/y$/, 'ies'), word.replace(/([sx])$/, '$1es')];
}

/** In the order in which `bench help words` prints them. */
export const GLOSSARY: readonly Term[] = [
  {
    words: ['matrix', 'axis', 'model'],
    text: 'A YAML file that says what is measured (models), what varies (axes) and how. Each combination of values is a cell.',
    see: ['bench help matrix', 'cell'],
  },
  {
    words: ['cell'],
    text: 'One point of a matrix: a model in a precision, with its shapes, CUDA graph, transfers, streams, spin wait, inputs, and every flag on an axis. A cell keeps its history when its engine is rebuilt or its model is exported again.',
    see: ['bench ls cells', 'history'],
  },
  {
    words: ['run'],
    text: 'One trtexec process of one cell. The run is the unit of evidence, not the single query: a thousand queries of one process share its clock, its memory layout and its luck.',
    see: ['query', 'repeat', 'bench show RUN'],
  },
  {
    words: ['spread'],
    text: 'How far the runs of a cell in one sweep lie apart: by how much the slowest is above the fastest, in percent.',
    see: ['noise', 'cv'],
  },
  {
    words: ['query'],
    text: 'One inference of the whole batch inside of a run, as trtexec counts.',
    see: ['throughput'],
  },
  {
    words: ['repeat'],
    text: 'One of several runs of the same cell in a sweep. They are spread over the sweep in shuffled order.',
  },
  {
    words: ['sweep'],
    text: 'One `bench run` or one import: its plan, commit, branch, machine, start and end.',
    see: ['bench ls sweeps', 'series'],
  },
  {
    words: ['store', 'bench.sqlite'],
    text: 'The SQLite file with all results: --db, else $BENCH_DB, else bench.sqlite in this folder or above. Next to it, artefacts/ keeps what every process printed, and engines/ the engines.',
    see: ['artefact', 'bench db info'],
  },
  {
    words: ['previous sweep'],
    text: 'The newest sweep before this one in its series. `latest~1` is the one before the latest.',
    see: ['series'],
  },
  {
    words: ['series'],
    text: 'The sweeps of one matrix, branch and provenance, on the same GPU model, in the order of time. `bench check` judges along a series.',
    see: ['history', 'bench check'],
  },
  { words: ['history'], text: 'The values of one metric of one cell along a series.', see: ['bench trend', 'level'] },
  {
    words: ['level', 'change point'],
    text: 'A level is a stretch of a history without a lasting change; a change point is where one level ends and the next begins.',
    see: ['finding', 'bench trend'],
  },
  {
    words: ['expected range'],
    text: 'Where the next value of a cell lies unless something changed: its level with the noise of its history.',
    see: ['level', 'noise'],
  },
  {
    words: ['engine', 'engine cache'],
    text: 'A built plan file. It is built once for all runs of a cell, and kept for the next sweep as long as model, flags, TensorRT, GPU and driver are the same.',
    see: ['build', 'bench ls engines'],
  },
  {
    words: ['build'],
    text: 'TensorRT making an engine from a model. Two builds of the same engine may choose different tactics, and differ in speed.',
    see: ['engine'],
  },
  {
    words: ['variant'],
    text: 'An ONNX file of another precision, made from the base model by ModelOpt: AutoCast for FP16 and BF16, quantization for FP8, INT8 and INT4.',
    see: ['bench model quantize'],
  },
  {
    words: ['provenance', 'recorded', 'simulated', 'imported'],
    text: 'Where results come from: measured (here), recorded (answered from recordings), simulated, imported. Results of different provenance are never compared or charted together unless requested by name.',
  },
  {
    words: ['outcome', 'measured', 'unfit', 'failed'],
    text: 'What became of a run. Unfit: it printed numbers, but not of what was requested, as with a graph that was not captured. Failed: no numbers. Both are kept with their reason and the lines of the log.',
    see: ['flag', 'bench show RUN'],
  },
  {
    words: ['flag'],
    text: 'Something that explains or weakens the number of a run: contended, throttled, host jitter, power-limited.',
    see: ['outcome'],
  },
  {
    words: ['bottleneck', 'bound by'],
    text: 'What limits the throughput of a cell: GPU compute, the power limit, the host, copies to or from the GPU, pauses asked for, or other work on the GPU.',
    see: ['flag', 'bench ls cells --filter bound=host'],
  },
  {
    words: ['metric'],
    text: 'A number of a run with its unit and the direction that is better, such as GPU compute time, latency, p99 or throughput.',
    see: ['bench help metrics'],
  },
  {
    words: ['verdict', 'slower', 'faster', 'same'],
    text: 'What is said of a cell against its reference level, or against the other side of a comparison: slower, faster, same, unclear, or no result.',
    see: ['reference level', 'unclear', 'no result'],
  },
  {
    words: ['unclear'],
    text: 'A verdict: these runs do not say whether the cell changed, as when its only run is far off. More runs or the next sweep settle it.',
    see: ['verdict', 'detectable'],
  },
  {
    words: ['no result', 'missing', 'incomparable'],
    text: 'A verdict: the cell has no run that counts. It failed, is missing or incomparable, or another process used the GPU. The exit code is 4.',
    see: ['outcome', 'bench help exit-codes'],
  },
  {
    words: ['regression'],
    text: 'Something is slower, or otherwise worse, than its reference, and nobody acknowledged it: the exit code is 1. --fail-on selects what counts.',
    see: ['finding', 'bench help exit-codes'],
  },
  {
    words: ['reference level', 'reference'],
    text: 'What a cell is compared with: the level that was last accepted. It becomes slower only by `bench ack` or `bench baseline`, and faster by itself when a faster level lasts.',
    see: ['level', 'acknowledged'],
  },
  {
    words: ['limit', 'warning'],
    text: 'A limit is a bound of the matrix on a metric (gate.limits): a value beyond it is a finding. A warning is a finding that makes no exit code, unless --fail-on has it.',
    see: ['finding', 'bench help matrix'],
  },
  { words: ['base', 'head'], text: 'The two sides of a comparison: before and after.', see: ['bench compare'] },
  {
    words: ['baseline'],
    text: 'A name for a sweep, such as a release: bench compare baseline:v1.2.',
    see: ['bench baseline set'],
  },
  {
    words: ['finding'],
    text: 'Cells that `bench check` found off their reference level, with one cause. It is new, then open until it is recovered or acknowledged. Whether it lasts, and its cause, are said with it where they are known.',
    see: ['reference level', 'bench ls findings'],
  },
  {
    words: ['new', 'open'],
    text: 'States of a finding: new on the morning of its report, open from then on. Of a cell, new means that it has no earlier value.',
    see: ['finding', 'regression'],
  },
  {
    words: ['recovered'],
    text: 'A state of a finding: its cells are back at their reference level, or pairs showed no difference.',
    see: ['finding', 'referee'],
  },
  {
    words: ['acknowledged'],
    text: 'A state of a finding: somebody accepted it with a reason. Its level is the reference from then on, and `bench check` does not fail because of it.',
    see: ['bench ack', 'reference level'],
  },
  {
    words: ['referee', 'pair'],
    text: 'The newest engine measured against the last good one at the end of the same sweep, one run of each at a time, so that the machine is the same for both.',
    see: ['bench run --confirm'],
  },
  {
    words: ['environment'],
    text: 'Everything about the machine that decides numbers: GPU, driver, CUDA, TensorRT, clocks, host. A finding names the parts that changed at the same time.',
  },
  {
    words: ['noise', 'run noise', 'sweep-to-sweep noise'],
    text: 'How much values differ though nothing changed: between the runs of a sweep, and between the sweeps of a series.',
    see: ['bench noise', 'detectable'],
  },
  {
    words: ['detectable', 'detectable effect'],
    text: 'The smallest change that these runs would have found nine times in ten: `same` says nothing about smaller ones.',
    see: ['verdict', 'bench noise'],
  },
  {
    words: ['actual precision'],
    text: 'The share of time or layers of an engine that ran in the precision that was asked for. TensorRT may choose another.',
    see: ['bench layers'],
  },
  {
    words: ['bottleneck'],
    text: 'What limits a cell: the GPU, the enqueue of the host, copies to or from the GPU, pauses, or power.',
    see: ['enqueue-ratio', 'gpu-busy'],
  },
  {
    words: ['cause'],
    text: 'What `bench why` names for a change, with its evidence: kernels, fusions, clocks, power, the host, options.',
    see: ['bench why'],
  },
  {
    words: ['layer', 'fusion'],
    text: 'A layer is a step of an engine; a fusion is several nodes of the ONNX graph that became one layer. A lost fusion is a frequent cause of a slower engine.',
    see: ['bench layers'],
  },
  {
    words: ['artefact', 'artifact', 'run folder', 'attachment'],
    text: 'A file kept of a run: its command line, log and exports in a folder of its own. Attachments are files that were added later.',
    see: ['bench show RUN'],
  },
];
