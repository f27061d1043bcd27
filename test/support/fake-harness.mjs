// Stands in for a harness that measures runs per second: `normal` of them, or `perfect` of them under
// ENABLE_PERFECT_ROUTER=1, with normal noise that depends on the seed and on how often it was started. All is made up.
import { appendFileSync, readFileSync } from 'node:fs';

const [calls, seed, normal, perfect, noisePercent] = process.argv.slice(2);
const isPerfect = process.env['ENABLE_PERFECT_ROUTER'] === '1';
appendFileSync(calls, isPerfect ? 'B' : 'A');
const number = readFileSync(calls, 'utf8').length;

/** mulberry32. */
function uniform(state) {
  let mixed = (Number(seed) * 7919 + state * 0x6d2b79f5) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32;
}

const [u, v] = [uniform(2 * number), uniform(2 * number + 1)];
const normalValue = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
const rate = Number(isPerfect ? perfect : normal) * (1 + (normalValue * Number(noisePercent)) / 100);
process.stdout.write(`${JSON.stringify({ rate })}\n`);
