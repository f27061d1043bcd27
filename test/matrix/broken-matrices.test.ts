import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';
import { mistakesIn, oneModel } from '../support/matrices.ts';

type Broken = readonly [name: string, files: string | Readonly<Record<string, string>>, ...mistakes: readonly string[]];

const BATCH = 'axes: {batch: 8}';

/** A matrix that is wrong, and the lines that must be said about it: each with its place, and nothing else. */
const BROKEN_MATRICES: readonly Broken[] = [
  ['no models', 'name: x\n', 'm.yaml:1:1: models is missing'],
  ['models without a model', 'models: {}\n', 'm.yaml:1:1: the matrix has no cells: it names no model'],
  ['an empty file', '', 'm.yaml:1:1: models is missing'],
  [
    'a list instead of a map',
    '- a\n',
    'm.yaml: a matrix is a map that begins with models: or name: (is this a matrix? For a model: `bench init FILE`; for a log: `bench parse FILE`)',
  ],
  [
    'a syntax error',
    'models:\n  vit: {onnx: a\naxes:\n',
    'm.yaml:3:1: YAML: Flow map in block collection must be sufficiently indented and end with a }',
  ],
  ['a tab', 'models:\n\tvit: {}\n', 'm.yaml:2:1: YAML: Tabs are not allowed as indentation'],
  ['a key twice', `${oneModel(BATCH)}\naxes: {batch: 1}\n`, 'm.yaml:7:1: YAML: Map keys must be unique'],
  ['a misspelt key', oneModel(BATCH, 'repeets: 3'), 'm.yaml:7:1: unknown key "repeets"; did you mean "repeats"?'],
  [
    'a misspelt key inside',
    oneModel(BATCH, 'run: {warmupMs: 100}'),
    'm.yaml:7:7: unknown key "warmupMs"; did you mean "warmUpMs"?',
  ],
  [
    'a word that is none',
    oneModel('axes: {batch: 8, precision: [fp16, fp12]}'),
    'm.yaml:6:36: axes.precision: "fp12" is not one of fp32, tf32, fp16, bf16, int8, fp8, int4, best; did you mean "fp32"?',
  ],
  ['a wrong type', oneModel(BATCH, 'repeats: many'), 'm.yaml:7:10: repeats: "many": a number is needed'],
  ['a number out of range', oneModel(BATCH, 'repeats: 0'), 'm.yaml:7:10: repeats: 0: must be at least 1'],
  [
    'an axis that nothing uses',
    oneModel('axes: {batch: 8, cudaGrph: [on]}'),
    'm.yaml:6:18: axis "cudaGrph" is neither known nor a dimension that any shapes name; did you mean "cudaGraph"?',
  ],
  [
    'a dimension without values',
    oneModel('axes: {precision: fp16}'),
    'm.yaml:4:21: "batch" has no values: add an axis, as in axes: {batch: [1, 8]}',
  ],
  [
    'a range that never ends',
    oneModel('axes: {batch: 0..8*2}', 'build: {opt: {batch: 8}}'),
    'm.yaml:6:15: batch: "0..8*2" never ends',
  ],
  [
    'a range that is none',
    oneModel('axes: {batch: one to eight}'),
    'm.yaml:6:15: batch: "one to eight" is neither a number nor a range such as 1..1024*2',
  ],
  [
    'a variable that is no value of env',
    oneModel('axes: {env.PERFECT: [0, 1]}'),
    'm.yaml:6:22: env.PERFECT: a variable is an axis under env, as in axes: {env: {PERFECT: [unset, "1"]}}',
    'm.yaml:6:25: env.PERFECT: a variable is an axis under env, as in axes: {env: {PERFECT: [unset, "1"]}}',
  ],
  ['a dimension of zero', oneModel('axes: {batch: 0, precision: fp16}'), 'm.yaml:4:21: input: a dimension cannot be 0'],
  [
    'several run shapes and no opt',
    oneModel('axes: {batch: [1, 8], precision: fp16}'),
    'm.yaml:2:3: build.opt is needed: input runs with 2 shapes, and the engine is tuned for one of them',
  ],
  [
    'a run shape outside of the profile',
    oneModel('axes: {batch: [1, 64], precision: fp16}', 'build: {opt: {batch: 8}, max: {batch: 32}}'),
    'm.yaml:6:19: model "vit": input "input": 64 in dimension 0 is outside of 1 to 32 (build.min to build.max)',
  ],
  [
    'min above max',
    oneModel('axes: {batch: 8, precision: fp16}', 'build: {min: {batch: 9}, opt: {batch: 8}, max: {batch: 4}}'),
    'm.yaml:7:1: input: min 9x3x224x224 <= opt 8x3x224x224 <= max 4x3x224x224 does not hold',
  ],
  [
    'a limit of something else',
    oneModel('axes: {batch: 8, precision: fp16}', 'build: {opt: {bach: 8}}'),
    'm.yaml:7:15: build.opt: "bach" is neither a dimension (batch) nor an input (input); did you mean "batch"?',
  ],
  [
    'no shapes',
    'models:\n  vit: {onnx: a.onnx}\n',
    'm.yaml:2:3: model "vit" states no shapes: write shapes: {INPUT: [batch, 3, 224, 224]}, or shapes: static for a model without dynamic dimensions',
  ],
  [
    'an input name with a comma',
    "models:\n  vit: {onnx: a.onnx, shapes: {'a,b': [1, 3]}}\n",
    'm.yaml:2:3: input "a,b": trtexec does not support a name with a comma in it',
  ],
  [
    'a precision without a file',
    'models:\n  vit:\n    shapes: static\n    precisions: {fp16: {onnx: a.onnx}}\naxes: {precision: [fp16, fp8]}\n',
    'm.yaml:5:26: model "vit" has nothing for fp8: give its base model (onnx: FILE), or a file for it (precisions: {fp8: {onnx: FILE}})',
  ],
  [
    'a flag that no trtexec has',
    oneModel('axes: {batch: 8, precision: fp16, "--maxAuxStreem": [0, 2]}'),
    'm.yaml:6:35: no trtexec from 8.4 to 11.1 has --maxAuxStreem; did you mean "--maxAuxStreams"?',
  ],
  [
    'the flag that the guide invents',
    oneModel('axes: {batch: 8, precision: fp16}', 'run: {flags: {--blockingSync: true}}'),
    'm.yaml:7:15: --blockingSync: no trtexec has it; state axes.spinWait: off',
  ],
  [
    'a flag that the plan writes',
    oneModel('axes: {batch: 8, precision: fp16}', 'run: {flags: {--useCudaGraph: true}}'),
    'm.yaml:7:15: --useCudaGraph is written by the plan: state axes.cudaGraph: on',
  ],
  [
    'a flag in the wrong phase',
    oneModel('axes: {batch: 8, precision: fp16}', 'run: {flags: {--avgTiming: 4}}', 'build: {flags: {--idleTime: 5}}'),
    'm.yaml:7:15: --avgTiming has no effect on a built engine: it belongs under build.flags',
    'm.yaml:8:17: --idleTime changes what is measured: put it on an axis (axes: {--idleTime: …}), so that its cells are others',
  ],
  [
    'a flag of the timed run that makes other numbers of the same cell',
    oneModel('axes: {batch: 8, precision: fp16}', 'run: {flags: {--sleepTime: 1, --threads: true}}'),
    'm.yaml:7:15: --sleepTime changes what is measured: put it on an axis (axes: {--sleepTime: …}), so that its cells are others',
    'm.yaml:7:31: --threads changes what is measured: put it on an axis (axes: {--threads: …}), so that its cells are others',
  ],
  [
    'a flag without its value, and one with a value too many',
    oneModel(
      'axes: {batch: 8, precision: fp16}',
      'build: {flags: {--avgTiming: true, --refit: 3, --memPoolSize: "workspace:4G"}}',
    ),
    'm.yaml:7:17: --avgTiming needs a value',
    'm.yaml:7:36: --refit takes no value: write true or false',
    'm.yaml:7:48: --memPoolSize: write pools as plain MiB, such as workspace:4096; versions read suffixes differently',
  ],
  [
    'an exclude with a fault',
    oneModel('axes: {batch: 8, precision: fp16}', 'exclude:', '  - model=vit & bach>8'),
    'm.yaml:8:17: unknown field "bach"; did you mean "batch"?',
  ],
  [
    'an exclude that excludes nothing',
    oneModel('axes: {batch: 8, precision: fp16}', 'exclude: [batch>8]'),
    'm.yaml:7:11: "batch>8" excludes none of the cells',
  ],
  [
    'an include of another model',
    oneModel('axes: {batch: 8, precision: fp16}', 'include: [{model: vitt, batch: 16}]'),
    'm.yaml:7:19: no model "vitt"; did you mean "vit"?',
  ],
  [
    'an input file that is not there',
    'models:\n  vit: {onnx: a.onnx, shapes: {x: [1, 3]}, inputs: {x: nope.bin}}\n',
    `m.yaml:2:56: inputs.x: ${process.cwd()}/nope.bin: no such file, or it cannot be read`,
  ],
  [
    'extends a file that is not there',
    { 'm.yaml': 'extends: base.yaml\nmodels: {}\n' },
    'm.yaml:1:10: extends: base.yaml: no such file',
  ],
  [
    'extends itself over another file',
    { 'm.yaml': 'extends: b.yaml\n', 'b.yaml': 'extends: m.yaml\n' },
    'b.yaml:1:10: extends: m.yaml extends this file again',
  ],
  [
    'a mistake in the extended file is told there',
    {
      'm.yaml': 'extends: b.yaml\nrepeats: 2\n',
      'b.yaml': oneModel('axes: {batch: 8, precision: fp16}', 'repeets: 5'),
    },
    'b.yaml:7:1: unknown key "repeets"; did you mean "repeats"?',
  ],
  [
    'everything at once',
    oneModel(
      'axes:',
      '  precision: [fp16, fq8]',
      '  batch: [1, 64]',
      '  streams: [0, 2]',
      'build: {opt: {batch: 8}, max: {batch: 32}, levl: 3}',
      'exclude: ["streams>1 &"]',
      'run: {flags: {--blockingSync: true}}',
    ),
    'm.yaml:10:44: unknown key "levl" (known: min, opt, max, optimizationLevel, memoryPoolsMib, timingCache, verbose, engine, flags, timeoutS)',
    'm.yaml:7:21: axes.precision: "fq8" is not one of fp32, tf32, fp16, bf16, int8, fp8, int4, best; did you mean "fp8"?',
    'm.yaml:8:14: model "vit": input "input": 64 in dimension 0 is outside of 1 to 32 (build.min to build.max)',
    'm.yaml:9:13: axes.streams: 0: must be at least 1',
    'm.yaml:11:22: a word or a field is needed, not the end',
    'm.yaml:12:15: --blockingSync: no trtexec has it; state axes.spinWait: off',
  ],
  [
    'a builder limit stated twice',
    oneModel(
      BATCH,
      'build: {optimizationLevel: 4, memoryPoolsMib: {workspace: 1}, flags: {--builderOptimizationLevel: 3, --memPoolSize: "workspace:4"}}',
    ),
    'm.yaml:7:71: --builderOptimizationLevel is build.optimizationLevel already: state one of the two',
    'm.yaml:7:102: --memPoolSize is build.memoryPoolsMib already: state one of the two',
  ],
];

test.each(BROKEN_MATRICES)('%s', (_name, files, ...mistakes) => {
  expect(mistakesIn(files)).toEqual(mistakes);
});

test('broken matrices through the command line: every line with its place, exit code 2, no stack', async () => {
  const [, text = '', ...mistakes] = BROKEN_MATRICES.find(([name]) => name === 'everything at once') ?? [];
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'm.yaml'), String(text));
  const { code, stdout, stderr } = await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folder });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr.trimEnd().split('\n')).toEqual(mistakes.map((line) => `bench: ${line}`));
});
