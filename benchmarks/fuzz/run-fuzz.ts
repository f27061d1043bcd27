import { BenchError, ExportFormatError } from '../../src/errors.ts';
import { OnnxFormatError } from '../../src/tools/onnx/wire-reader.ts';
import { SeriesFormatError } from '../../src/features/detect/detect.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { mutate } from './mutate.ts';
import { fuzzTargets, type Target } from './targets.ts';

/** What readers say of input that is wrong; anything else that they throw is a crash. */
const KNOWN_ERRORS = [BenchError, ExportFormatError, OnnxFormatError, SeriesFormatError];
const SLOW_MS = 1000;
const MOST_FINDINGS = 20;

export interface FuzzReport {
  readonly inputs: number;
  /** By target: inputs, those that were refused, and the longest time. */
  readonly targets: readonly {
    readonly name: string;
    readonly inputs: number;
    readonly refused: number;
    readonly longestMs: number;
  }[];
  /** Crashes and wrong answers: target, seed of the input, what happened. */
  readonly findings: readonly string[];
  /** Inputs that took more than a second. */
  readonly slow: readonly string[];
}

/**
 * Gives readers damaged inputs. The same seed makes the same inputs.
 * @param root an empty folder to work in
 * @param now in milliseconds
 */
export async function runFuzz(
  inputs: number,
  seed: number,
  root: string,
  now: () => number,
  onProgress: (done: number) => void = () => {},
): Promise<FuzzReport> {
  const findings: string[] = [];
  const slow: string[] = [];
  const targets = fuzzTargets(root);
  const rows: FuzzReport['targets'][number][] = [];
  let done = 0;
  for (const [place, target] of targets.entries()) {
    const count = Math.max(1, Math.round(inputs * target.share));
    let refused = 0;
    let longestMs = 0;
    for (let index = 0; index < count; index += 1) {
      const inputSeed = (seed * 1_000_003 + place * 100_000_007 + index) >>> 0;
      const startMs = now();
      const outcome = await tryOne(target, inputSeed);
      const tookMs = now() - startMs;
      longestMs = Math.max(longestMs, tookMs);
      if (outcome !== null && outcome !== 'refused' && findings.length < MOST_FINDINGS) {
        findings.push(`${target.name}, input ${inputSeed}: ${outcome}`);
      }
      if (outcome === 'refused') refused += 1;
      if (tookMs > SLOW_MS) slow.push(`${target.name}, input ${inputSeed}: ${Math.round(tookMs)} ms`);
      done += 1;
      if (done % 10_000 === 0) onProgress(done);
    }
    rows.push({ name: target.name, inputs: count, refused, longestMs });
  }
  return { inputs: done, targets: rows, findings, slow };
}

/** Null: it was read. */
async function tryOne(target: Target, seed: number): Promise<string | null> {
  const mutant = mutate(target.seeds, seededRandom(seed));
  try {
    await target.read(mutant);
    return null;
  } catch (error) {
    if (KNOWN_ERRORS.some((known) => error instanceof known)) return 'refused';
    if (!(error instanceof Error)) return String(error);
    return `${error.name}: ${error.message.slice(0, 200)}`;
  }
}
