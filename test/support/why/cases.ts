import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { CauseKind } from '../../../src/records/cause.ts';
import { Random } from './random.ts';
import { beside, BETWEEN_SWEEPS, readText, REPEATS, type Source } from './sources.ts';
import { changeSummary, medianOf, type SummaryChange } from './summary.ts';

/** What is true of a case: the causes that were put in (either may come first), or that there is none. */
export type Truth = { readonly kind: 'causes'; readonly causes: readonly CauseKind[] } | { readonly kind: 'nothing' };

/** One side of a case: what `bench` finds in its folder. */
interface Side {
  readonly runs: readonly Source[];
  readonly change: SummaryChange;
  readonly stdout: (text: string) => string;
  readonly stderr: string;
  readonly environment: Record<string, string | number>;
  readonly engine: { buildId: string; sha256: string };
  readonly modelSha256: string;
  readonly telemetry: Telemetry;
  /** The log as it was recorded, with its samples. */
  readonly asRecorded: boolean;
}

interface Telemetry {
  readonly smClockMhz: number;
  readonly powerW: number;
  readonly temperatureC: number;
  /** NVML's bits. */
  readonly reasons: number;
}

export type WhyCase = { readonly name: string; readonly truth: Truth; readonly base: Side; readonly head: Side };

const QUIET: Telemetry = { smClockMhz: 1980, powerW: 320, temperatureC: 45, reasons: 0 };
const POWER_CAP = 0x4;
const THERMAL = 0x20 | 0x40;

type Maker = (random: Random) => WhyCase;
type Change = (side: Side, random: Random) => Side;

/** At least four of each cause, eight with two at once, ten with nothing to find; the same for the same seed. */
export function makeCases(seed: number): WhyCase[] {
  const random = new Random(seed);
  const gpu = beside('gpu-contended');
  const cpu = beside('cpu-contended').filter(([, { folder }]) => folder.endsWith('graph1'));
  const rows: readonly (readonly [Maker, number])[] = [
    ...SINGLE.map((maker) => [maker, 4] as const),
    [(r) => recordedCase(r.pick(gpu), 'contention', r), 4],
    [(r) => recordedCase(r.pick(cpu), 'hostBound', r), 4],
    [(r) => starvedAndSlower(r.pick(cpu), r), 4],
    [(r) => DOUBLE[Math.floor(r.next() * DOUBLE.length)]?.(r) ?? unexplained(r), 8],
    [noDifference, 5],
    [unexplained, 5],
  ];
  return rows.flatMap(([maker, times]) => Array.from({ length: times }, () => maker(random)));
}

function plain(runs: readonly Source[], random: Random): Side {
  return {
    runs,
    change: {},
    stdout: (text) => text,
    stderr: '',
    environment: { driver: '580.159.04', gpuName: 'NVIDIA H200', tensorrt: '10.6.0' },
    engine: newEngine(random),
    modelSha256: random.hash(),
    telemetry: QUIET,
    asRecorded: false,
  };
}

/** Two sides of the same cell, engine and machine: several runs, or one of each night. */
function twins(random: Random, graph: boolean): { base: Side; head: Side } {
  const cells = BETWEEN_SWEEPS.filter(([{ folder }]) => folder.endsWith('graph1') === graph);
  const runs = graph && random.next() < 0.6 ? random.pick(REPEATS) : random.pick(cells);
  const half = Math.floor(runs.length / 2);
  const base = plain(runs.slice(0, half), random);
  return { base, head: { ...base, runs: runs.slice(half, 2 * half) } };
}

function named(name: string, causes: readonly CauseKind[], base: Side, head: Side): WhyCase {
  return { name, truth: { kind: 'causes', causes }, base, head };
}

/** The second of two sides of the same cell is changed. */
function twin(name: string, causes: readonly CauseKind[], change: Change, graph = true): Maker {
  return (random) => {
    const { base, head } = twins(random, graph);
    return named(name, causes, base, change(head, random));
  };
}

function slower(side: Side, factor: number): Side {
  return { ...side, change: { ...side.change, gpu: (side.change.gpu ?? 1) * factor } };
}

function withClock(side: Side, random: Random, low: number, high: number, more: Partial<Telemetry> = {}): Side {
  const smClockMhz = Math.round(random.between(low, high) / 15) * 15;
  const gpu = (QUIET.smClockMhz / smClockMhz) ** random.between(0.9, 1);
  return { ...slower(side, gpu), telemetry: { ...QUIET, smClockMhz, ...more } };
}

function withDriver(side: Side, random: Random, factor: number): Side {
  const driver = `5${Math.floor(random.between(10, 79))}.86.10`;
  return { ...slower(side, factor), environment: { ...side.environment, driver } };
}

function withEnqueue(side: Side, random: Random): Side {
  const log = side.runs[0]?.stdout ?? '';
  const gpuMs = medianOf(log, 'GPU Compute Time');
  const enqueueMs = gpuMs * random.between(1.15, 1.8);
  return {
    ...side,
    change: { enqueue: enqueueMs / medianOf(log, 'Enqueue Time'), gpu: (enqueueMs * 1.01) / gpuMs },
    stderr:
      '[11/21/2026-07:34:03] [W] * Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be under-utilized.\n',
  };
}

const NO_GRAPH = [
  'The CUDA graph capture on the stream has failed.',
  'The built TensorRT engine contains operations that are not permitted under CUDA graph capture mode.',
  'The specified --useCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.',
].map((line) => `[11/21/2026-07:34:02] [W] ${line}\n`);

function withoutGraph(side: Side, random: Random): Side {
  const { change, ...other } = slower(side, random.between(1.08, 1.3));
  return {
    ...other,
    change: { ...change, enqueue: 200 },
    stdout: (text) => text.replace(/^.*Successfully captured CUDA graph.*\n/m, ''),
    stderr: NO_GRAPH.join(''),
  };
}

function newEngine(random: Random): Side['engine'] {
  return { buildId: random.hash().slice(0, 32), sha256: random.hash() };
}

function withModel(side: Side, random: Random, factor: number): Side {
  return { ...slower(side, factor), engine: newEngine(random), modelSha256: random.hash() };
}

const SINGLE: readonly Maker[] = [
  twin('clock', ['clocks'], (head, random) => withClock(head, random, 1400, 1860)),
  twin('power cap', ['powerLimit'], (head, random) => {
    const capped = { powerW: random.between(680, 699), reasons: POWER_CAP, temperatureC: 62 };
    return withClock(head, random, 1500, 1860, capped);
  }),
  twin('heat', ['thermal'], (head, random) => {
    return withClock(head, random, 1000, 1700, { temperatureC: Math.round(random.between(86, 92)), reasons: THERMAL });
  }),
  twin('driver', ['environment'], (head, random) => withDriver(head, random, random.between(1.03, 1.15))),
  twin('enqueue', ['enqueueBound'], withEnqueue, false),
  twin('graph', ['graphNotCaptured'], withoutGraph),
  twin('model', ['model'], (head, random) => withModel(head, random, random.between(1.04, 1.3))),
  twin('transfers', ['transfers'], (head, random) => {
    return { ...head, change: { h2d: random.between(3, 12), d2h: random.between(1, 4) } };
  }),
];

const DOUBLE: readonly Maker[] = [
  twin('power cap and driver', ['powerLimit', 'environment'], (head, random) =>
    withDriver(withClock(head, random, 1500, 1800, { powerW: 695, reasons: POWER_CAP }), random, 1.01),
  ),
  twin('model and driver', ['model', 'environment'], (head, random) =>
    withModel(withDriver(head, random, 1.05), random, 1.1),
  ),
  twin('graph and clock', ['graphNotCaptured', 'clocks'], (head, random) =>
    withClock(withoutGraph(head, random), random, 1500, 1800),
  ),
  twin('transfers and clock', ['transfers', 'clocks'], (head, random) =>
    withClock({ ...head, change: { h2d: 6 } }, random, 1500, 1800),
  ),
];

function recordedCase([before, after]: readonly [Source, Source], cause: CauseKind, random: Random): WhyCase {
  const base = plain([before], random);
  return named(`recorded: ${cause}`, [cause], base, { ...base, runs: [after], asRecorded: true });
}

/** The GPU's own times move a little as well: the host is still what cost the throughput. */
function starvedAndSlower([before, after]: readonly [Source, Source], random: Random): WhyCase {
  const base = plain([before], random);
  const change = { gpu: random.between(1.011, 1.03) };
  return named('starved and slower', ['hostBound'], base, { ...base, runs: [after], change });
}

const noDifference: Maker = (random) => {
  const { base, head } = twins(random, random.next() < 0.6);
  const other = random.next() < 0.4 ? withDriver(head, random, 1) : head;
  return { name: 'no difference', truth: { kind: 'nothing' }, base, head: other };
};

const unexplained: Maker = (random) => {
  const { base, head } = twins(random, true);
  const change = { gpu: random.between(1.06, 1.3) };
  return { name: 'unexplained', truth: { kind: 'nothing' }, base, head: { ...head, change } };
};

/** Writes both sides as folders of runs, as `bench run` leaves them. */
export function writeCase({ base, head }: WhyCase, folder: string): [string, string] {
  const [a, b] = [join(folder, 'base'), join(folder, 'head')];
  writeSide(base, a);
  writeSide(head, b);
  return [a, b];
}

function writeSide(side: Side, folder: string): void {
  side.runs.forEach((source, place) => writeRun(side, source, join(folder, `run-${place}`), 'timed'));
  writeBuild(side, join(folder, 'build'));
}

function manifestOf(side: Side, source: Source, role: string): Record<string, unknown> {
  return {
    schemaVersion: 1,
    role,
    cell: { model: source.model, precision: source.precision },
    argv: source.argv.filter((part) => side.asRecorded || !part.startsWith('--exportTimes')),
    environment: side.environment,
    provenance: 'simulated',
    buildId: side.engine.buildId,
    engineSha256: side.engine.sha256,
    exitCode: 0,
    omitted: ['times.json'],
  };
}

function writeRun(side: Side, source: Source, folder: string, role: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'run.json'), JSON.stringify(manifestOf(side, source, role)));
  const stdout = side.asRecorded ? source.stdout : changeSummary(side.stdout(source.stdout), side.change);
  writeFileSync(join(folder, 'stdout.log'), stdout);
  const stderr = source.stderr + side.stderr;
  if (stderr !== '') writeFileSync(join(folder, 'stderr.log'), stderr);
  const times = side.asRecorded ? readText(source.folder, 'times.json') : null;
  if (times !== null) writeFileSync(join(folder, 'times.json'), times);
  if (role === 'timed') writeFileSync(join(folder, 'nvidia-smi.csv'), telemetryText(side.telemetry));
}

/** A build of which only the inputs matter here. */
function writeBuild(side: Side, folder: string): void {
  const [source] = side.runs;
  if (source === undefined) return;
  mkdirSync(folder, { recursive: true });
  const manifest = {
    ...manifestOf(side, source, 'build'),
    argv: ['trtexec', '--onnx=model.onnx', '--saveEngine=model.plan', '--stronglyTyped'],
    build: { model: source.model, modelSha256: side.modelSha256, flags: ['--stronglyTyped'] },
  };
  writeFileSync(join(folder, 'run.json'), JSON.stringify(manifest));
  const marker = 'TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --skipInference';
  const lines = ['Engine built in 8.2 sec.', 'Skipped inference phase since --skipInference is added.'];
  const said = lines.map((line) => `[11/21/2026-07:34:01] [I] ${line}\n`).join('');
  writeFileSync(join(folder, 'stdout.log'), `&&&& RUNNING ${marker}\n${said}&&&& PASSED ${marker}\n`);
}

const COLUMNS =
  'timestamp, pstate, clocks.current.sm [MHz], clocks.current.memory [MHz], power.draw [W], power.limit [W], temperature.gpu, utilization.gpu [%], clocks_event_reasons.active';

function telemetryText({ smClockMhz, powerW, temperatureC, reasons }: Telemetry): string {
  const power = `3201 MHz, ${powerW.toFixed(2)} W, 700.00 W`;
  const state = `${temperatureC}, 98 %, 0x${reasons.toString(16).padStart(16, '0')}`;
  const rows = [0, 1, 2, 3].map(
    (second) => `2026/11/21 07:34:0${second}.000, P0, ${smClockMhz} MHz, ${power}, ${state}`,
  );
  return `${[COLUMNS, ...rows].join('\n')}\n`;
}
