import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { fakeTools } from '../support/fake-tools.ts';
import { ONNX_MODELS, onnxNetwork } from '../support/onnx-models.ts';
import { GUIDE, SUSTAINED } from '../support/recordings.ts';
import { settled } from '../support/settled.ts';
import { HAS_SLURM, SlurmCluster } from '../support/slurm-cluster.ts';
import { STUB } from '../support/stub.ts';
import { type Block, blocksOf, linksOf, type Step, stepsOf, wordsOf } from './markdown.ts';

const pages = (): string[] =>
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));

const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', ...pages().map((name) => join('docs', name))];
const STUB_NSYS = join(ROOT, 'test', 'support', 'stub-nsys.ts');
/** A document may have several stories: each begins with a checkout of its own. */
const FRESH_CHECKOUT = '<!-- from here on a fresh checkout -->';
/** Its examples need a real Slurm. */
const ON_SLURM = join('docs', 'how-to', 'slurm.md');
/** `UPDATE_DOCS=1` writes what the commands print into the documents instead of comparing it. */
const IS_UPDATE = process.env['UPDATE_DOCS'] === '1';
const GIT_IDENTITY = ['-c', 'user.name=Docs', '-c', 'user.email=docs@example.com'];

/** A checkout of somebody's own: matrices, a model, a log, and a stand-in for trtexec. */
function makeCheckout(): { cwd: string; env: Record<string, string>; lastCode: number | null } {
  const cwd = temporaryFolder();
  cpSync(join(ROOT, 'matrices'), join(cwd, 'matrices'), { recursive: true });
  mkdirSync(join(cwd, 'models'));
  writeFileSync(join(cwd, 'models', 'resnet50_fp16.onnx'), 'a model');
  copyFileSync(join(ONNX_MODELS, 'vit_tiny.onnx'), join(cwd, 'models', 'vit_tiny.onnx'));
  copyFileSync(join(ONNX_MODELS, 'control_flow.onnx'), join(cwd, 'models', 'detector.onnx'));
  writeFileSync(join(cwd, 'models', 'vit_small.onnx'), onnxNetwork('vit_tiny'));
  mkdirSync(join(cwd, 'logs'));
  const log = join(GUIDE, 'listing-06-fp16-summary.log');
  for (const name of ['trtexec.log', 'logs/vit.log']) copyFileSync(log, join(cwd, name));
  cpSync(SUSTAINED, join(cwd, 'sustained'), { recursive: true });
  mkdirSync(join(cwd, 'bin'));
  symlinkSync(STUB, join(cwd, 'bin', 'trtexec'));
  // What a machine has of it must not change what is shown.
  fakeTools(join(cwd, 'bin'), { nsys: `exec '${process.execPath}' '${STUB_NSYS}' "$@"` });
  git(cwd, ['init', '--quiet', '--initial-branch=main']);
  git(cwd, ['commit', '--quiet', '--allow-empty', '--message', 'first']);
  const path = [join(cwd, 'bin'), process.env['PATH']].join(delimiter);
  // Nothing is left in, or found in, the folder for temporary files of the machine.
  const temporary = join(cwd, 'temporary');
  mkdirSync(temporary);
  return { cwd, env: { COLUMNS: '110', PATH: path, TMPDIR: temporary }, lastCode: null };
}

const git = (cwd: string, args: readonly string[]): string =>
  execFileSync('git', [...GIT_IDENTITY, ...args], { cwd, encoding: 'utf8' });

test('docs/README.md names each document once', () => {
  const named = linksOf(readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8')).filter((link) => !link.startsWith('..'));
  expect(named.toSorted()).toEqual(
    pages()
      .filter((name) => name !== 'README.md')
      .toSorted(),
  );
});

test('CONTRIBUTING.md names files and folders that are there', () => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const named = [...text.matchAll(/`((?:src|test|scripts|docs|matrices)\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

describe.each(DOCUMENTS)('%s', (name) => {
  const path = join(ROOT, name);
  const text = readFileSync(path, 'utf8');
  const blocks = blocksOf(text);
  let cluster: SlurmCluster | null = null;
  if (name === ON_SLURM && HAS_SLURM) {
    beforeAll(async () => {
      cluster = await SlurmCluster.start(21_600);
    }, 120_000);
    afterAll(() => cluster?.stop(), 120_000);
  }

  test('links to files that are there', () => {
    expect(linksOf(text).filter((link) => !existsSync(join(dirname(path), link)))).toEqual([]);
  });

  test('npm scripts are those of package.json', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, script = '']) => script);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });

  // Those of README are typed in a clone: typed.test.ts.
  if (name === 'README.md') return;
  test.skipIf(name === ON_SLURM && !HAS_SLURM)(
    'its examples do what they say',
    async () => {
      let checkout = makeCheckout();
      Object.assign(checkout.env, cluster?.env);
      const lines = text.split('\n');
      const updates: { readonly block: Block; readonly lines: readonly string[] }[] = [];
      // An id has one stand-in in the whole document.
      const seen = new Map<string, string>();
      let read = 0;
      for (const block of blocks) {
        if (lines.slice(read, block.start).includes(FRESH_CHECKOUT)) checkout = makeCheckout();
        read = block.end;
        if (block.language === 'yaml') await checkYaml(block, checkout.cwd);
        if (['csv', 'text', 'js'].includes(block.language)) saveFile(block, checkout.cwd);
        if (block.language !== 'console') continue;
        const shown: string[] = [];
        for (const step of stepsOf(block.lines)) {
          const printed = await run(step, checkout, seen);
          shown.push(`$ ${step.command}`, ...(step.output === null ? ['…'] : printed));
          if (!IS_UPDATE && step.output !== null) {
            expect({ command: step.command, printed }).toEqual({ command: step.command, printed: step.output });
          }
        }
        updates.unshift({ block, lines: shown });
      }
      if (!IS_UPDATE) return;
      for (const update of updates) {
        const { start, end } = update.block;
        lines.splice(start, end - start, ...update.lines);
      }
      writeFileSync(path, lines.join('\n'));
    },
    120_000,
  );
});

async function run({ command, output }: Step, checkout: ReturnType<typeof makeCheckout>, seen: Map<string, string>) {
  const { cwd, env } = checkout;
  const [program, ...args] = wordsOf(command);
  if (program === 'git') return linesOf(git(cwd, args), cwd, seen);
  if (program === 'echo' && args[0] === '$?') return [`${checkout.lastCode}`];
  expect([command, program]).toEqual([command, 'bench']);
  const { code, stdout, stderr } = await bench(args, { cwd, env });
  checkout.lastCode = code;
  // A regression is an answer as well; a failure shows its line.
  const isAnswer = code === 0 || code === 1 || code === 4 || output !== null;
  const expected = [command, true, code === 0 || code === 1 ? '' : stderr];
  expect([command, isAnswer, code === 0 || code === 1 ? '' : stderr]).toEqual(expected);
  // What is not shown takes no stand-ins: how many ids it has may differ.
  if (output === null) return [];
  const lines = linesOf(stdout === '' ? stderr : stdout, cwd, seen);
  const shown = output.length - 1;
  if (!/^\(\d+ more lines\)$/.test(output[shown] ?? '') || lines.length <= shown + 2) return lines;
  return [...lines.slice(0, shown), `(${lines.length - shown} more lines)`];
}

function linesOf(text: string, cwd: string, seen: Map<string, string>): string[] {
  return settled(text, cwd, seen)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line, index, all) => line !== '' || index < all.length - 1);
}

function saveFile({ lines }: Block, cwd: string): void {
  const file = /^(?:#|\/\/) ([\w./-]+)$/.exec(lines[0] ?? '')?.[1];
  if (file !== undefined) writeFileSync(join(cwd, file), `${lines.join('\n')}\n`);
}

/** A block that names its file first is that file; any other is a part of a matrix, and must fit into one. */
async function checkYaml({ lines }: Block, cwd: string): Promise<void> {
  const file = /^# ([\w./-]+\.yaml)$/.exec(lines[0] ?? '')?.[1];
  const body = lines.join('\n');
  const isWhole = /^(?:models|extends):/m.test(body);
  const model = 'models: {vit: {onnx: vit.onnx, precisions: {fp16: onnx}, shapes: {input: [batch, 3, 224, 224]}}}\n';
  const axes = /^axes:/m.test(body) ? '' : 'axes: {batch: 8}\n';
  const build = /^build:/m.test(body) ? '' : 'build: {opt: {batch: 8}}\n';
  const path = file ?? 'part.yaml';
  writeFileSync(join(cwd, path), isWhole ? body : `${model}${axes}${build}${body}`);
  const planned = await bench(['plan', path, '--tensorrt', '10.6'], { cwd });
  expect([body, planned.code, planned.stderr]).toEqual([body, 0, '']);
}
