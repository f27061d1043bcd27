import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryReader } from '@bufbuild/protobuf/wire';

import type { CheckedFinding } from '../../src/features/check/output.ts';
import { bytesField, node, type Piece, toBytes, valueInfo } from '../../test/support/onnx-writer.ts';
import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { type MatrixOptions, writeMatrix } from './matrices.ts';
import type { Visit } from './visit.ts';

const SWEEPS = 20;
/** Seconds of the parts after the sweeps. */
const SLOWER_S = 75;
const BACK_S = 22;

/** Ten cells, two runs of .3 s; a short build, because sweeps are what takes the time here. */
export const GATE: MatrixOptions = {
  name: 'gate',
  batches: [1, 2, 4, 8, 16],
  durationS: 0.3,
  warmUpMs: 50,
  repeats: 2,
};

/** Visit B: 20 sweeps without a change, a slower model with pairs, and the old engines again. */
export async function visitReferee(visit: Visit): Promise<void> {
  await visit.part('sweeps without a change', 430, () => checkQuiet(visit, SWEEPS, SLOWER_S + BACK_S));
  await visit.part('a slower model', SLOWER_S, () => checkSlower(visit, 'slower', 3, '--confirm'));
  await visit.part('the same engines again', BACK_S, () => checkBack(visit, 1));
  await visit.part('logs', 0, () => checkLogs(visit));
}

/** Sweeps without any change, at most this number, as long as `reservedS` seconds are left. */
export async function checkQuiet(visit: Visit, sweeps: number, reservedS: number): Promise<void> {
  const matrix = writeMatrix(visit, GATE);
  const [seen, found]: [number[], string[]] = [[], []];
  // A sweep took as long as the longest one so far but the first, which builds.
  while (seen.length < sweeps && visit.leftS > reservedS + Math.max(0, ...seen.slice(1))) {
    const { seconds } = await visit.bench(['run', matrix, '--no-confirm']);
    seen.push(seconds);
    const { findings } = await visit.json(OUTPUTS.check, ['check']);
    const fresh = findings.filter(({ isWarning, state }) => state === 'new' && !isWarning);
    found.push(...fresh.map((finding) => `sweep ${seen.length}: ${findingText(finding)}`));
  }
  const cells = visit.count('SELECT count(DISTINCT cell_key) n FROM runs WHERE cell_key IS NOT NULL');
  const figure = `${seen.length} of ${sweeps} sweeps of ${cells} cells`;
  visit.check('no finding', seen.length > 0 && found.length === 0, [figure, ...found].join('; '));
}

/**
 * The ResNet changed: what is 2 % slower and more is new in that sweep, and with `--confirm` pairs say that it lasts.
 *
 * @param softmaxes how many are added behind its output; null: built with level 0 instead
 */
export async function checkSlower(
  visit: Visit,
  name: string,
  softmaxes: number | null,
  how: '--confirm' | '--no-confirm',
): Promise<void> {
  const resnet =
    softmaxes === null ? { build: { optimizationLevel: 0 } } : { onnx: writeSlowerResnet(visit, softmaxes) };
  const { stderr } = await visit.bench([
    'run',
    writeMatrix(visit, { ...GATE, changes: { resnet } }, `gate-${name}`),
    how,
  ]);
  const { findings } = await visit.json(OUTPUTS.check, ['check']);
  const { cells } = await visit.json(OUTPUTS.compare, ['compare', 'latest~1', 'latest']);
  const large = cells.filter(({ changePercent }) => (changePercent ?? 0) >= 2);
  const reported = findings.filter(
    ({ direction, lasts, state }) =>
      direction === 'slower' && state === 'new' && (how === '--no-confirm' || lasts === 'pairs'),
  );
  const missed = large.filter(({ label }) => !reported.some(({ labels }) => labels.includes(label)));
  const changed = cells.filter(({ label }) => label.startsWith('resnet'));
  const figure = [
    ...findings.map(findingText),
    ...pairLines(stderr),
    `compared: ${changed.map(({ changePercent }) => percentText(changePercent)).join(' ')}`,
    ...missed.map(({ label, changePercent }) => `missed: ${label} ${percentText(changePercent)}`),
  ];
  visit.check(
    `${how}: changes of 2 % and more are new in that sweep${how === '--confirm' ? ', and last' : ''}`,
    large.length > 0 && missed.length === 0,
    figure.join('; '),
  );
}

/**
 * Back to the old model, whose engines are still in the cache: after one sweep nothing may be new, after a second one
 * what was reported is over.
 */
export async function checkBack(visit: Visit, sweeps: 1 | 2): Promise<void> {
  const lines: string[] = [];
  for (let place = 0; place < sweeps; place += 1) {
    const { stderr } = await visit.bench(['run', writeMatrix(visit, GATE), '--confirm']);
    lines.push(...pairLines(stderr));
  }
  const { findings } = await visit.json(OUTPUTS.check, ['check']);
  const slower = findings.filter(
    ({ direction, state }) => direction === 'slower' && (state === 'new' || (state === 'open' && sweeps === 2)),
  );
  const figure = [...findings.map(findingText), ...lines].join('; ') || 'no finding';
  visit.check(sweeps === 1 ? 'nothing is newly slower' : 'nothing is slower any more', slower.length === 0, figure);
}

const FLOAT32 = 1;
/** Field of the graph in `ModelProto`, and of outputs in `GraphProto`. */
const [GRAPH, OUTPUT] = [7, 12];

/** The ResNet with more work behind its output: a number of Softmax in a row, a few microseconds each. */
export function writeSlowerResnet(visit: Visit, softmaxes: number): string {
  const from = visit.model('resnet');
  const path = join(visit.place.folder, `resnet-slower-${softmaxes}.onnx`);
  const names = ['output', ...Array.from({ length: softmaxes }, (_, place) => `slower_${place}`)];
  const nodes = names.slice(1).flatMap((name, place) => node('Softmax', [names[place] ?? ''], name));
  const classes = from.includes('tiny') ? 10 : 1000;
  const output = valueInfo(OUTPUT, names.at(-1) ?? '', ['batch', classes], FLOAT32);
  writeFileSync(path, toBytes(withMoreGraph(readFileSync(from), [...nodes, ...output])));
  return path;
}

/** Fields of a message are in no order: what is new is at the end of the graph. */
function withMoreGraph(model: Uint8Array, more: readonly Piece[]): Piece[] {
  const reader = new BinaryReader(model);
  const pieces: Piece[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field === GRAPH) pieces.push(...bytesField(GRAPH, reader.bytes(), ...more));
    else {
      reader.skip(wireType, field);
      pieces.push(model.subarray(start, reader.pos));
    }
  }
  return pieces;
}

/** State, size and evidence of a finding. */
export function findingText(finding: CheckedFinding): string {
  const { cause, details, direction, labels, lasts, metrics, pairs, state } = finding;
  const sizes = metrics.map(({ changePercent, ciPercent, metric }) => {
    const interval = ciPercent === null ? '' : ` (${ciPercent.map(percentText).join(' to ')})`;
    return `${metric} ${percentText(changePercent)}${interval}`;
  });
  return [
    `${state} ${direction}${lasts === null ? '' : `, lasts by ${lasts}`}: ${labels.length} cells`,
    ...sizes,
    `margin ${Math.max(...details.map(({ margin }) => margin)).toFixed(1)}`,
    ...(pairs === null ? [] : [`${pairs.agreeing} of ${pairs.count} pairs: ${pairs.outcome}`]),
    ...(cause === null ? [] : [`cause ${cause}`]),
  ].join(', ');
}

/** What bench run says of the pairs of each cell. */
export function pairLines(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('note: ') && / pairs|engine/.test(line));
}

function percentText(percent: number | null): string {
  return percent === null ? '?' : `${percent > 0 ? '+' : ''}${percent.toFixed(2)} %`;
}
