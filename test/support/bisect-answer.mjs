// The stand-in for trtexec with times that depend on what was built: an ONNX file may say `scale=1.05`, and so may a
// file named by BISECT_SCALE_FILE; BISECT_NOISE makes each run differ by so much, BISECT_COUNTER counts them.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { answer as answerOfStub } from './stub-answer.mjs';

export { needsProcess } from './stub-answer.mjs';

const scaleIn = (path) =>
  path && existsSync(path) ? Number(/scale=([\d.]+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? 1) : 1;

/** The same for the same number of the run: a sum of twelve uniform numbers is nearly normal. */
function noise(env) {
  if (!env.BISECT_NOISE || !env.BISECT_COUNTER) return 1;
  appendFileSync(env.BISECT_COUNTER, '.');
  const hash = createHash('sha256').update(readFileSync(env.BISECT_COUNTER)).digest();
  const sum = hash.subarray(0, 12).reduce((total, byte) => total + byte / 255, 0);
  return 1 + Number(env.BISECT_NOISE) * (sum - 6);
}

/** What the stub is to be started with, and what is to be added to the engine that it builds. */
export function prepared({ args, env, cwd }) {
  const fileOf = (flag) => {
    const path = args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
    return path && resolve(cwd, path);
  };
  if (args.includes('--skipInference')) {
    const onnx = fileOf('--onnx');
    const rules = '[{"when": "--skipInference", "does": "fails"}]';
    if (scaleIn(onnx) === 0) return { start: { args, env: { ...env, STUB_RULES: rules }, cwd }, end: () => undefined };
    return { start: { args, env, cwd }, end: () => appendFileSync(fileOf('--saveEngine'), readFileSync(onnx)) };
  }
  const engine = fileOf('--loadEngine');
  if (!engine) return { start: { args, env, cwd }, end: () => undefined };
  const scale = scaleIn(engine) * scaleIn(env.BISECT_SCALE_FILE && resolve(cwd, env.BISECT_SCALE_FILE)) * noise(env);
  const STUB_SCALE = String(scale * Number(env.STUB_SCALE ?? 1));
  return { start: { args, env: { ...env, STUB_SCALE }, cwd }, end: () => undefined };
}

/** As `answer` of the stub. */
export function answer(start, streams) {
  const { start: changed, end } = prepared(start);
  const answered = answerOfStub(changed, streams);
  end();
  return answered;
}
