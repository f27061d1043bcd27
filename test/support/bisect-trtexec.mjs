#!/usr/bin/env node
// The stand-in for trtexec with times that depend on what was built: an ONNX file may say `scale=1.05`, and so may a
// file named by BISECT_SCALE_FILE; BISECT_NOISE makes each run differ by so much, BISECT_COUNTER counts them.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import process from 'node:process';

const { env } = process;
const valueOf = (flag) => process.argv.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
const scaleIn = (path) =>
  path && existsSync(path) ? Number(/scale=([\d.]+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? 1) : 1;

/** The same for the same number of the run: a sum of twelve uniform numbers is nearly normal. */
function noise() {
  if (!env.BISECT_NOISE || !env.BISECT_COUNTER) return 1;
  appendFileSync(env.BISECT_COUNTER, '.');
  const hash = createHash('sha256').update(readFileSync(env.BISECT_COUNTER)).digest();
  const sum = hash.subarray(0, 12).reduce((total, byte) => total + byte / 255, 0);
  return 1 + Number(env.BISECT_NOISE) * (sum - 6);
}

const [engine, onnx] = [valueOf('--saveEngine'), valueOf('--onnx')];
if (process.argv.includes('--skipInference')) {
  if (scaleIn(onnx) === 0) env.STUB_RULES = '[{"when": "--skipInference", "does": "fails"}]';
  else process.on('exit', () => appendFileSync(engine, readFileSync(onnx)));
} else if (valueOf('--loadEngine')) {
  const scale = scaleIn(valueOf('--loadEngine')) * scaleIn(env.BISECT_SCALE_FILE) * noise();
  env.STUB_SCALE = String(scale * Number(env.STUB_SCALE ?? 1));
}
await import('./stub-trtexec.mjs');
