import { describe, expect, test } from 'vitest';

import { matrixFrom, oneModel } from '../support/matrices.ts';
import { planFor, problems } from '../support/plan-for.ts';

const plainModel = (...rest: readonly string[]) => oneModel('axes: {precision: fp16, batch: 8}', ...rest);
const withAxis = (axis: string, ...rest: readonly string[]) =>
  oneModel(`axes: {precision: fp16, batch: 8, ${axis}}`, ...rest);

/** What a plan has beside that of the same cell without the axis. */
function added(version: string, axis: string, ...rest: readonly string[]) {
  const plan = planFor(version, withAxis(axis, ...rest));
  const plain = planFor(version, plainModel(...rest));
  const more = (args: readonly string[] = [], without: readonly string[] = []) =>
    args.filter((arg) => !without.includes(arg));
  return {
    build: more(plan.builds[0]?.args, plain.builds[0]?.args),
    run: more(plan.runs[0]?.args, plain.runs[0]?.args),
  };
}

const ONNX = `${process.cwd()}/vit.onnx`;
const NOTHING = { build: [], run: [] };

describe('each word in each version that has it', () => {
  const ROWS = [
    'runtime: full | 8.6 10.6 11.1 |  | ',
    'runtime: lean | 8.6 10.6 11.1 | --versionCompatible | --useRuntime=lean --versionCompatible',
    'runtime: dispatch | 8.6 10.6 11.1 | --versionCompatible | --useRuntime=dispatch --versionCompatible',
    'weights: full | 8.6 10.6 11.1 |  | ',
    'weights: stripped | 10.14 11.1 | --stripWeights | --refit --refitFromOnnx=ONNX',
    'weights: refittable | 10.14 11.1 | --stripWeights --refit --timeRefit | --refit --refitFromOnnx=ONNX',
    'weightBudget: off | 10.0 10.6 11.1 | --allowWeightStreaming | --weightStreamingBudget=-2 --allowWeightStreaming',
    'weightBudget: auto | 10.0 11.1 | --allowWeightStreaming | --weightStreamingBudget=-1 --allowWeightStreaming',
    'weightBudget: "50%" | 10.0 11.1 | --allowWeightStreaming | --weightStreamingBudget=50% --allowWeightStreaming',
    'weightBudget: 512M | 10.0 11.1 | --allowWeightStreaming | --weightStreamingBudget=536870912 --allowWeightStreaming',
    'allocationStrategy: static | 8.6 10.6 11.1 |  | ',
    'allocationStrategy: profile | 10.0 11.1 |  | --allocationStrategy=profile',
    'allocationStrategy: runtime | 10.0 10.9 |  | --allocationStrategy=runtime',
    'allocationStrategy: runtime | 10.10 11.1 | --preview=+runtimeActivationResize | --allocationStrategy=runtime',
    'profilingVerbosity: detailed | 8.6 10.6 11.1 |  | ',
    'profilingVerbosity: none | 8.6 10.6 11.1 | --profilingVerbosity=none | --profilingVerbosity=none',
    'profilingVerbosity: layer_names_only | 8.6 10.6 11.1 | --profilingVerbosity=layer_names_only | --profilingVerbosity=layer_names_only',
    'auxStreams: 0 | 8.6 10.6 11.1 | --maxAuxStreams=0 | ',
    'auxStreams: 4 | 8.6 10.6 11.1 | --maxAuxStreams=4 | ',
    'sparsity: disable | 8.4 11.1 |  | ',
    'sparsity: enable | 8.4 10.6 11.1 | --sparsity=enable | ',
    'builderOptimizationLevel: 5 | 8.6 10.6 11.1 | --builderOptimizationLevel=5 | ',
    'memPoolSize: "workspace:512" | 8.4 11.1 | --memPoolSize=workspace:512 | ',
    'memPoolSize: "workspace:512M" | 8.4 11.1 | --memPoolSize=workspace:512 | ',
    'memPoolSize: "workspace:2GiB,dlaSRAM:1024K" | 8.4 11.1 | --memPoolSize=workspace:2048,dlaSRAM:1 | ',
    'memPoolSize: "tacticSharedMem:64K" | 10.1 11.1 | --memPoolSize=tacticSharedMem:64K | ',
    'loader: default | 8.6 11.1 |  | ',
    'loader: async | 10.7 11.1 |  | --asyncFileReader',
    'device: gpu | 8.4 11.1 |  | ',
    'device: dla1 | 8.4 8.6 10.6 10.16 | --useDLACore=1 --allowGPUFallback | --useDLACore=1',
    'device: dla1 | 11.0 11.1 | --useDLACore=1 --allowGPUFallback | --noCudaGraph --useDLACore=1',
  ].map((row) => row.split(' | '));

  test.each(ROWS)('%s in %s', (axis = '', versions = '', build = '', run = '') => {
    const words = (text: string): string[] => (text.match(/\S+/g) ?? []).map((word) => word.replace('ONNX', ONNX));
    const expected = { build: words(build), run: words(run) };
    for (const version of words(versions)) expect([version, added(version, axis)]).toEqual([version, expected]);
  });
});

test.each([
  ['runtime: [full, lean, dispatch]', '8.5', '--useRuntime', '8.6'],
  ['weights: [full, stripped, refittable]', '9.3', '--stripWeights', '10.0'],
  ['weightBudget: [off, auto, "50%", 512M]', '9.3', '--weightStreamingBudget', '10.0'],
  ['allocationStrategy: [static, profile]', '8.6', '--allocationStrategy', '10.0'],
  ['auxStreams: [0, 4]', '8.5', '--maxAuxStreams', '8.6'],
  ['builderOptimizationLevel: [0, 5]', '8.5', '--builderOptimizationLevel', '8.6'],
  ['loader: [default, async]', '10.6', '--asyncFileReader', '10.7'],
])('%s on %s is one line that says since when', (axis, version, flag, since) => {
  const lines = problems(version, withAxis(axis));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    new RegExp(`^m\\.yaml:6:\\d+: trtexec ${version}\\.0 has no ${flag}: it was added in ${since}$`),
  );
});

test('stripped weights need a trtexec that can give them back', () => {
  expect(problems('10.6', withAxis('weights: [full, stripped]'))).toEqual([
    'm.yaml:6:51: stripped weights: trtexec 10.6.0 has no --refitFromOnnx: it was added in 10.14',
  ]);
  expect(problems('11.1', withAxis('weights: stripped', 'build: {engine: frozen}'))).toEqual([
    'm.yaml:6:44: stripped weights: build.engine: frozen keeps an engine when its model changes, and the weights would be of another one',
  ]);
});

test('a converted model is refitted from the variant that it was built of', () => {
  const text = withAxis('weights: stripped').replace('    precisions: {fp16: onnx, fp8: onnx}\n', '');
  expect(planFor('11.1', text).runs[0]?.args).toContain('--refitFromOnnx={variant}');
});

test('the first value is the cell that it is without the axis', () => {
  const axes =
    'runtime: full, weights: full, allocationStrategy: static, sparsity: disable, loader: default, device: gpu';
  const plain = planFor('10.6', plainModel());
  const plan = planFor('10.6', withAxis(axes));
  expect(plan.cells.map(({ cell }) => cell.key)).toEqual(plain.cells.map(({ cell }) => cell.key));
  expect(added('10.6', axes)).toEqual(NOTHING);
});

test('a word and its flag are the same cell', () => {
  const key = (axis: string) => planFor('10.6', withAxis(axis)).cells[0]?.cell.key;
  expect(key('auxStreams: 4')).toBe(key('"--maxAuxStreams": 4'));
  expect(key('weightBudget: auto')).toBe(key('"--weightStreamingBudget": "-1"'));
  expect(key('memPoolSize: "workspace:1G"')).toBe(key('"--memPoolSize": "workspace:1024"'));
});

test('pools of build: and of the axis are limited together', () => {
  const pools = 'build: {memoryPoolsMib: {dlaSRAM: 4}, optimizationLevel: 2}';
  const { builds } = planFor('10.6', withAxis('memPoolSize: "workspace:512M"', pools));
  expect(builds[0]?.args).toEqual(
    expect.arrayContaining(['--builderOptimizationLevel=2', '--memPoolSize=dlaSRAM:4,workspace:512']),
  );
});

test('labels and filters say the word', () => {
  const axes = 'runtime: [full, lean], weightBudget: [off, 512M, "50%"], device: [gpu, dla0]';
  expect(planFor('10.6', withAxis(axes)).cells.map(({ label }) => label)).toContain(
    'vit fp16 8x3x224x224 no-graph runtime=lean weightBudget=512M device=dla0',
  );
  const exclude = 'exclude: ["runtime=full & device=dla0", "weightBudget=50% & device=gpu"]';
  expect([withAxis(axes), withAxis(axes, exclude)].map((text) => matrixFrom(text).cells.length)).toEqual([12, 7]);
});

test('graphs are off on the DLA, and the plan says so', () => {
  const plan = planFor('10.6', withAxis('device: [gpu, dla0, dla1], cudaGraph: [on, off]'));
  expect(plan.cells.map(({ label }) => label)).toEqual([
    'vit fp16 8x3x224x224 graph',
    'vit fp16 8x3x224x224 no-graph device=dla0',
    'vit fp16 8x3x224x224 no-graph device=dla1',
    'vit fp16 8x3x224x224 no-graph',
  ]);
  expect(plan.notes).toEqual(['device dla0, dla1: CUDA graphs are off there, whatever cudaGraph says']);
});

test('a preview feature of the user stays beside the one that is needed', () => {
  const text = withAxis('allocationStrategy: runtime', 'build: {flags: {--preview: +aliasedPluginIO1003}}');
  expect(planFor('10.10', text).builds[0]?.args).toContain('--preview=+aliasedPluginIO1003,+runtimeActivationResize');
});

describe('an engine that was given', () => {
  const given = (axis: string) =>
    ['models:', '  mine: {engine: mine.plan, shapes: {input: [batch, 3]}}', `axes: {batch: 8, ${axis}}`].join('\n');

  test('is not concerned by what acts when one is built', () => {
    const plan = planFor('11.1', given('auxStreams: [0, 4], weights: [full, stripped]'));
    expect(plan.cells.map(({ label }) => label)).toEqual(['mine 8x3 graph']);
  });

  test('beside models that are built, an axis that does nothing to it is a mistake', () => {
    const text = withAxis('auxStreams: [0, 4]').replace('fp16: onnx', 'fp16: {engine: vit16.plan}');
    expect(problems('11.1', text)).toEqual([
      'm.yaml:6:48: auxStreams acts when an engine is built, and vit has cells with a given engine: leave them out (exclude), or state the axis for other models',
    ]);
  });
});

test('weights are streamed of strongly typed engines only', () => {
  expect(problems('10.6', withAxis('weightBudget: [off, auto]').replace('fp16: onnx', 'fp16: flag'))).toEqual([
    'm.yaml:6:50: weights can be streamed of strongly typed engines only: reach the precision by a model that has it, not by a flag',
  ]);
});

describe('plugins', () => {
  const folder = process.cwd();
  const text = plainModel(`plugins:
  static: [lib/a.so, lib/b.so]
  dynamic: [lib/c.so, lib/d.so]
  serialize: [lib/d.so]`);

  test.each(['8.6', '10.6', '11.1'])('on %s', (version) => {
    const plan = planFor(version, text);
    const plugins = (args: readonly string[] = []) =>
      args
        .filter((arg) => arg.includes('.so') || arg === '--versionCompatible')
        .map((arg) => arg.replace(`${folder}/lib/`, ''));
    const ofBoth = ['--versionCompatible', '--staticPlugins=a.so', '--staticPlugins=b.so', '--dynamicPlugins=c.so'];
    const ofBuild = ['--dynamicPlugins=d.so', '--setPluginsToSerialize=d.so'];
    expect(plugins(plan.builds[0]?.args)).toEqual([...ofBoth, ...ofBuild]);
    // The engine brings d.so with it.
    expect(plugins(plan.runs[0]?.args)).toEqual(ofBoth);
  });

  test('before 8.6 there was one kind', () => {
    const only = text.split('\n').slice(0, 8).join('\n');
    expect(planFor('8.5', only).builds[0]?.args.slice(-9)).toContain(`--plugins=${folder}/lib/a.so`);
    expect(problems('8.5', text)).toEqual([
      'm.yaml:9:13: trtexec 8.5.0 has no --dynamicPlugins: it was added in 8.6',
      'm.yaml:10:15: trtexec 8.5.0 has no --setPluginsToSerialize: it was added in 8.6',
    ]);
  });

  test('a model has its own', () => {
    const own = text.replace('    precisions', '    plugins: {dynamic: [own.so]}\n    precisions');
    expect(planFor('10.6', own).builds[0]?.flags.filter((flag) => flag.includes('.so'))).toEqual([
      `--dynamicPlugins=${folder}/own.so`,
    ]);
  });

  test('are no part of what a cell is', () => {
    const plain = planFor('10.6', plainModel());
    const plan = planFor('10.6', text);
    expect(plan.cells[0]?.cell.key).toBe(plain.cells[0]?.cell.key);
    expect(plan.builds[0]?.buildRef).not.toBe(plain.builds[0]?.buildRef);
  });

  test('what cannot be is told at its place', () => {
    expect(problems('10.6', withAxis('runtime: [full, lean]', 'plugins: {static: [a.so]}'))).toEqual([
      'm.yaml:7:20: plugins.static need the full runtime, and there are cells with runtime: lean: use plugins.dynamic',
    ]);
  });
});

test('a verbose build has it in its log only, and is the same engine', () => {
  const plan = planFor('11.1', plainModel('build: {verbose: true}'));
  const plain = planFor('11.1', plainModel());
  expect([plan.builds[0]?.args.at(-1), plan.builds[0]?.buildRef]).toEqual(['--verbose', plain.builds[0]?.buildRef]);
  expect(plan.runs[0]?.args).not.toContain('--verbose');
});

test('no compilation cache is a flag of the build, and another engine', () => {
  const text = plainModel('build: {flags: {--noCompilationCache: true}}');
  const plain = planFor('10.6', plainModel());
  const plan = planFor('10.6', text);
  expect(plan.builds[0]?.flags).toContain('--noCompilationCache');
  expect(plan.builds[0]?.buildRef).not.toBe(plain.builds[0]?.buildRef);
  expect(plan.cells[0]?.cell.key).toBe(plain.cells[0]?.cell.key);
  expect(problems('8.6', text)[0]).toContain('has no --noCompilationCache: it was added in 9.1');
});
