/** Values of one summary line, by the word before its ` = `. */
type Line = Record<string, number>;

const LINES = ['Latency', 'Enqueue Time', 'H2D Latency', 'GPU Compute Time', 'D2H Latency'] as const;

export interface SummaryChange {
  /** Times of the GPU are multiplied by it. */
  readonly gpu?: number;
  readonly enqueue?: number;
  readonly h2d?: number;
  readonly d2h?: number;
}

/**
 * The log of a recorded run as it would read had parts of a query taken longer: the summary's lines stay consistent
 * with one another (latency is the sum of its parts; the longer of compute and copies sets the pace). The means of ten
 * queries each that stand before it are those of the recording: they are taken out.
 */
export function changeSummary(log: string, change: SummaryChange): string {
  const summary = new Map(LINES.map((name) => [name, readLine(log, name)]));
  const scaled = (name: (typeof LINES)[number], factor: number): Line =>
    Object.fromEntries(Object.entries(summary.get(name) ?? {}).map(([key, value]) => [key, value * factor]));
  const gpu = scaled('GPU Compute Time', change.gpu ?? 1);
  const enqueue = scaled('Enqueue Time', change.enqueue ?? 1);
  const h2d = scaled('H2D Latency', change.h2d ?? 1);
  const d2h = scaled('D2H Latency', change.d2h ?? 1);
  const latency = Object.fromEntries(
    Object.keys(gpu).map((key) => [key, (gpu[key] ?? 0) + (h2d[key] ?? 0) + (d2h[key] ?? 0)]),
  );
  const before = paceMs(summary.get('GPU Compute Time'), summary.get('H2D Latency'));
  const after = paceMs(gpu, h2d);
  const qps = numberIn(log, /Throughput: ([\d.e+-]+) qps/);
  const queries = numberIn(log, /Timing trace has (\d+) queries/);
  const periodMs = 1000 / qps + after - before;
  const walltimeS = (queries * periodMs) / 1000;
  let text = log;
  const lines = {
    Latency: latency,
    'Enqueue Time': enqueue,
    'H2D Latency': h2d,
    'GPU Compute Time': gpu,
    'D2H Latency': d2h,
  };
  for (const [name, values] of Object.entries(lines)) text = writeLine(text, name, values);
  return text
    .replace(/^.*\] \[I\] Average on \d+ runs.*\n/gm, '')
    .replace(/Throughput: \S+ qps/, `Throughput: ${six(1000 / periodMs)} qps`)
    .replace(/Total Host Walltime: \S+ s/, `Total Host Walltime: ${six(walltimeS)} s`)
    .replace(/Total GPU Compute Time: \S+ s/, `Total GPU Compute Time: ${six(((gpu['mean'] ?? 0) * queries) / 1000)} s`)
    .replace(/queries over \S+ s$/m, `queries over ${six(walltimeS)} s`);
}

const paceMs = (gpu: Line | undefined, h2d: Line | undefined): number =>
  Math.max(gpu?.['mean'] ?? 0, h2d?.['mean'] ?? 0);

export const medianOf = (log: string, name: (typeof LINES)[number]): number =>
  readLine(log, name)['median'] ?? Number.NaN;

function readLine(log: string, name: string): Line {
  const text = new RegExp(`\\] \\[I\\] ${name}: (.*)$`, 'm').exec(log)?.[1] ?? '';
  return Object.fromEntries(
    [...text.matchAll(/([\w()%.]+) = ([\d.e+-]+) ms/g)].map((match) => [match[1] ?? '', Number(match[2])]),
  );
}

function writeLine(log: string, name: string, values: Line): string {
  const text = Object.entries(values)
    .map(([key, value]) => `${key} = ${six(value)} ms`)
    .join(', ');
  return log.replace(new RegExp(`(\\] \\[I\\] ${name}: ).*$`, 'm'), `$1${text}`);
}

function numberIn(log: string, pattern: RegExp): number {
  const value = Number(pattern.exec(log)?.[1]);
  if (!Number.isFinite(value)) throw new Error(`no ${pattern} in the log`);
  return value;
}

/** As a C++ stream prints it. */
const six = (value: number): string => String(Number(value.toPrecision(6)));
