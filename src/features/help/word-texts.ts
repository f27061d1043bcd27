/** The words that bench uses, with what they mean here. */
export const WORD_TEXTS: readonly (readonly [string, string])[] = [
  [
    'cell',
    'One point of a matrix: a model in a precision, with its shapes, CUDA graph, transfers, streams, spin wait, inputs, and every flag that stands on an axis. A cell keeps its history when its engine is built anew or its model is exported again.',
  ],
  [
    'run',
    'One trtexec process of one cell. The run is the unit of evidence, not the single query: a thousand queries of one process share its clock, its memory layout and its luck.',
  ],
  ['query', 'One inference of the whole batch inside of a run, as trtexec counts.'],
  ['repeat', 'One of several runs of the same cell. They are spread over the sweep in shuffled order.'],
  [
    'sweep',
    'One `bench run` or one import: its plan, commit, branch, machine, start and end. A night is mostly one sweep.',
  ],
  [
    'engine',
    'A built plan file. It is built once for all runs of a cell, and kept for the next sweep as long as model, flags, TensorRT, GPU and driver are the same.',
  ],
  ['build', 'One making of an engine. Two builds of the same engine may choose other tactics, and differ in speed.'],
  [
    'variant',
    'An ONNX file of another precision, made from the base model by ModelOpt: AutoCast for FP16 and BF16, quantization for FP8, INT8 and INT4.',
  ],
  [
    'provenance',
    'Where results come from: measured (here), recorded (answered from recordings), simulated, imported. Results of different provenance are never compared or charted together unless that is asked for by name.',
  ],
  [
    'measured, unfit, failed',
    'What a run can turn out to be. Unfit: it printed numbers, but not of what was asked for, as with a graph that was not captured. Failed: no numbers. Both are kept with their reason and the lines of the log.',
  ],
  [
    'verdict',
    'What a comparison says of a cell: slower, faster, same, unclear (with how much it could hide, and how many runs would settle it), missing, failed, or incomparable.',
  ],
  ['base, head', 'The two sides of a comparison: before and after.'],
  ['baseline', 'A name for a sweep, such as a release: bench compare baseline:v1.2.'],
  [
    'finding',
    'A lasting change of a cell that `bench check` tells, once, on the night on which it is sure. `bench ack` accepts it.',
  ],
  [
    'environment',
    'The machine as far as it decides numbers: GPU, driver, CUDA, TensorRT, clocks, host. A change of it is named beside what changed with it.',
  ],
  [
    'could hide',
    'The smallest change that would have been found nine times in ten. A verdict without it would be worth little.',
  ],
  [
    'cause',
    'What `bench why` names for a change, with its evidence: kernels, fusions, clocks, power, the host, options.',
  ],
  [
    'layer, fusion',
    'A step of an engine, and several nodes of the ONNX graph that became one. A fusion that is lost is a frequent cause of a slower engine.',
  ],
];
