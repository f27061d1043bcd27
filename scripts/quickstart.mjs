// The main job on recorded H200 runs: matrix, runs, store, comparison, chart. Started by `npm run quickstart`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDER = 'quickstart';

const isColoured = process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';

function bold(text) {
  return isColoured ? `\u001b[1m${text}\u001b[22m` : text;
}

function say(text = '') {
  process.stdout.write(`${text}\n`);
}

/** Prints the command as a person would type it, and runs it. */
function bench(args, expectedCode = 0) {
  say(`\n${bold(`$ bench ${args.map(quoted).join(' ')}`)}`);
  const { status } = spawnSync(process.execPath, [join(ROOT, 'bin', 'bench.js'), ...args], {
    stdio: 'inherit',
    env: { ...process.env, BENCH_DB: join(ROOT, FOLDER, 'bench.sqlite') },
  });
  if (status === expectedCode) return;
  if (status === 130) process.exit(130);
  process.stderr.write(`quickstart: bench ended with ${status} instead of ${expectedCode}\n`);
  process.exit(1);
}

function quoted(arg) {
  return /^[\w./~:=-]+$/.test(arg) ? arg : `'${arg}'`;
}

process.chdir(ROOT);
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);

say(`trtbench on recorded runs of one NVIDIA H200: no GPU is needed, nothing here is measured on this machine.
The store is ${FOLDER}/bench.sqlite.

${bold('1. One matrix on two nights.')} Two models, FP16 and FP8, three batch sizes, CUDA graph on and off; the engines are the same.`);
bench(['run', 'matrices/quickstart.yaml']);
bench(['run', 'matrices/quickstart.yaml', '--replay', 'night2']);
say(`\nOne run a side proves nothing, however different two numbers look: each cell says what it could hide.`);
bench(['compare']);

say(`
${bold('2. A change that really cost something.')} The engine was tuned for batch 8; then somebody moved the optimum to batch 32.
Five runs of each, taken in turn.`);
bench(['run', 'matrices/quickstart-pair.yaml']);
bench(['run', 'matrices/quickstart-pair-opt32.yaml']);
bench(['compare', '--filter', 'model=vit_small'], 1);
say('\nThat comparison ended with exit code 1: a nightly job stops here.');
bench(['trend', 'model=vit_small & precision=fp16 & batch<=8 & cudaGraph=on', '--height', '6']);

say(`
${bold('Next')}
  alias bench='node ${join(ROOT, 'bin', 'bench.js')}'; cd ${FOLDER}
  bench ls cells                              what is in the store
  bench show latest                           a sweep, a run or a cell in full
  bench trend 'model=vit_base & batch=8'      any cells over time
  bench plan ../matrices/nightly.yaml --tensorrt 10.6
                                              a larger matrix, with every command line
  bench run my-matrix.yaml                    your own models, with the trtexec of this machine
  bench --help                                and README.md`);
