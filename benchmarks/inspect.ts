import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../src/text/unknown-values.ts';
import { initializer, model, node, type Piece, valueInfo, writeSparse } from '../test/support/onnx-writer.ts';
import { bench, benchWithPeak } from './processes.ts';
import { absolute, type Benchmark, type Row } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const ROUNDS = sized(5, 1);
const TENSORS = 392;
const NODES = 2577;

/** How long the facts of a model of gigabytes take, and how much memory: they must not grow with the weights. */
export const inspectModel: Benchmark = { name: 'inspect', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const beside = join(folder, 'beside.onnx');
  const within = join(folder, 'within.onnx');
  writeModel(beside, 2.5e9, 'beside.weights');
  writeModel(within, 1.9e9, null);
  const facts = await benchWithPeak(['model', 'inspect', '--json', beside], folder);
  checkFacts(facts.stdout);
  const times = await medianTimesMs({ beside: () => ours(beside), within: () => ours(within) }, ROUNDS);
  const against = '2.5 GB of weights beside the model';
  return [
    absolute('bench model inspect, time', times.beside / 1000, ' s', { atMost: 1 }, { against }),
    absolute('bench model inspect, most memory held', facts.peakMb, ' MB', { atMost: 100 }, { against }),
    absolute('bench model inspect, 1.9 GB within', times.within / 1000, ' s', { atMost: 1 }),
  ];
}

async function ours(path: string): Promise<number> {
  return (await bench(['model', 'inspect', path])).wallMs;
}

/** As many nodes and weights as a vision transformer has; the weights are holes in the files. */
function writeModel(path: string, bytes: number, weightsFile: string | null): void {
  const elements = Math.floor(bytes / TENSORS / 2);
  const nodes = Array.from({ length: NODES }, (_, i) => node('MatMul', [`t${i}`, `w${i % TENSORS}`], `t${i + 1}`));
  const weights = Array.from({ length: TENSORS }, (_, i) =>
    initializer(`w${i}`, elements, weightsFile, i * elements * 2),
  );
  const ends: Piece[] = [
    ...valueInfo(11, 't0', ['batch', 3, 224, 224]),
    ...valueInfo(12, `t${NODES}`, ['batch', 1000]),
  ];
  writeSparse(path, model(17, ...nodes.flat(), ...weights.flat(), ...ends));
  if (weightsFile === null) return;
  const file = join(path, '..', weightsFile);
  writeFileSync(file, '');
  truncateSync(file, elements * 2 * TENSORS);
}

function checkFacts(stdout: string): void {
  const facts: unknown = JSON.parse(stdout);
  if (!isRecord(facts) || facts['nodes'] !== NODES || facts['initializers'] !== TENSORS) {
    throw new Error('the model was not understood');
  }
}
