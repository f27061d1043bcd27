#!/usr/bin/env node
// Stands in for a Python with ModelOpt: answers the question for versions, and "converts" by leaving an ONNX model and a
// recorded log. STUB_PYTHON (JSON): {"journal": FILE, "case": recorded case, "packages": {...}, "hangs": true,
// "waitFor": FILE, "leaves": FILE or null}.
import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { brotliDecompressSync } from 'node:zlib';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');
const rules = JSON.parse(process.env.STUB_PYTHON ?? '{}');
const args = process.argv.slice(2);
const note = (text) => rules.journal && appendFileSync(rules.journal, `${text}\n`);
const valueOf = (flag) => args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);

if (args[0] === '-c') {
  const wanted = Object.keys(JSON.parse(args[2]));
  const packages = Object.fromEntries(wanted.map((name) => [name, '1.0']));
  const found = { ...packages, 'nvidia-modelopt': '0.47.0', ...rules.packages };
  process.stdout.write(JSON.stringify({ python: '3.11.7', packages: found }));
  process.exit(0);
}

if (args[0]?.endsWith('calibration.py')) {
  const { path, target, ...wanted } = JSON.parse(readFileSync(args[1], 'utf8'));
  const isGood = path === undefined || path.endsWith('.npz');
  if (isGood) writeFileSync(target, `stands for an npz: ${JSON.stringify(wanted)}`);
  process.stdout.write(JSON.stringify(isGood ? {} : { problem: 'it is no npz file', isLacking: false }));
  process.exit(0);
}

note(args.join(' '));
const recorded = rules.case ?? (args[1].endsWith('autocast') ? 'autocast_ok_keep_io' : 'ok_vit_tiny_fp8');
const logOf = (stream) => {
  const path = join(FIXTURES, 'modelopt', `${recorded}.${stream}.log.br`);
  return existsSync(path) ? brotliDecompressSync(readFileSync(path)) : '';
};
// As the real one does: it rewrites its input and leaves files beside it.
appendFileSync(valueOf('--onnx_path'), '');
writeFileSync('model_named.onnx', 'an intermediate file');
writeFileSync(join(process.env.TMPDIR, 'left.onnx'), 'left behind');
if (rules.hangs) await wait(600_000);
while (rules.waitFor && !existsSync(rules.waitFor)) await wait(20);
process.stdout.write(logOf('stdout'));
process.stderr.write(logOf('stderr'));
const cases = readFileSync(join(FIXTURES, 'modelopt', 'cases.tsv'), 'utf8');
const line = cases.split('\n').find((row) => row.startsWith(`${recorded}\t`));
const leaves = rules.leaves === undefined ? 'quantized.onnx' : rules.leaves;
const code = Number(line?.split('\t')[1] ?? 0);
if (code === 0 && leaves !== null) copyFileSync(join(FIXTURES, 'onnx', leaves), valueOf('--output_path'));
process.exitCode = code;
