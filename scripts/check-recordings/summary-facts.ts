import { type Fact, type Facts, isFiniteText, isNumberLike } from './facts.ts';

const METRIC_LINES: ReadonlyMap<string, string> = new Map([
  ['Latency', 'latencyMs'],
  ['Enqueue Time', 'enqueueMs'],
  ['H2D Latency', 'h2dMs'],
  ['GPU Compute Time', 'gpuComputeMs'],
  ['D2H Latency', 'd2hMs'],
]);
const HEADINGS_7: ReadonlyMap<string, string> = new Map([
  ['Host Latency', 'latencyMs'],
  ['Host latency', 'latencyMs'],
  ['Enqueue Time', 'enqueueMs'],
  ['GPU Compute', 'gpuComputeMs'],
]);
const TOTALS: readonly (readonly [string, RegExp])[] = [
  ['throughputQps', /^[Tt]hroughput: (\S+) qps/],
  ['hostWalltimeS', /^(?:Total Host Walltime|walltime): (\S+) s/],
  ['gpuTotalS', /^(?:Total GPU Compute Time|total compute time): (\S+) s/],
];

const STATISTIC = /(min|max|mean|median|percentile\([-+.,\de]+%\)) = (\S+) ms/g;

/** The figures of one performance report. End-to-end times of 7.x to 8.2 are left out, as bench does not keep them. */
export class SummaryFacts {
  private readonly facts: Facts = new Map();
  private metric7: string | null = null;

  /** True when the line was one of the report. */
  take(text: string, line: number): boolean {
    const colon = text.indexOf(': ');
    const metric = METRIC_LINES.get(text.slice(0, Math.max(0, colon)));
    if (metric !== undefined) {
      this.takeMetric(metric, text.slice(colon + 2), line);
      return true;
    }
    for (const [key, pattern] of TOTALS) {
      const value = pattern.exec(text)?.[1];
      if (value !== undefined && isNumberLike(value)) {
        this.facts.set(key, { text: value, line });
        return true;
      }
    }
    return this.take7(text, line);
  }

  private takeMetric(metric: string, statistics: string, line: number): void {
    this.drop(metric);
    for (const [, name = '', value = ''] of statistics.matchAll(STATISTIC)) {
      const percent = /^percentile\((\S+)%\)$/.exec(name)?.[1];
      const key = percent === undefined ? name : `p${Number(percent)}`;
      if (isNumberLike(value)) this.facts.set(`${metric}.${key}`, { text: value, line });
    }
  }

  private drop(metric: string): void {
    for (const key of this.facts.keys()) {
      if (key.startsWith(`${metric}.`)) this.facts.delete(key);
    }
  }

  private take7(text: string, line: number): boolean {
    const heading = HEADINGS_7.get(text);
    if (heading !== undefined) {
      this.metric7 = heading;
      this.drop(heading);
      return true;
    }
    if (this.metric7 === null) return false;
    const plain = /^(min|max|mean|median): (\S+) ms/.exec(text);
    const percentile = /^percentile: (\S+) ms at (\S+)%/.exec(text);
    if (plain !== null) {
      this.facts.set(`${this.metric7}.${plain[1]}`, { text: plain[2] ?? '', line });
    }
    if (percentile !== null) {
      const key = `${this.metric7}.p${Number(percentile[2])}`;
      this.facts.set(key, { text: percentile[1] ?? '', line });
    }
    return plain !== null || percentile !== null;
  }

  /** Without these there is no measurement. */
  get isComplete(): boolean {
    const needed = ['throughputQps', 'hostWalltimeS'];
    for (const metric of ['latencyMs', 'gpuComputeMs']) {
      needed.push(...['min', 'max', 'median'].map((name) => `${metric}.${name}`));
    }
    const means = ['latencyMs.mean', 'gpuComputeMs.mean'].filter((key) => this.facts.has(key));
    return [...needed, ...means].every((key) => isFiniteText(this.facts.get(key)?.text ?? ''));
  }

  /**
   * The figures that a measurement must have. Transfers that were off are printed as zeros; a metric with `nan` is
   * none; TensorRT 7 prints 0 queries a second for dynamic shapes.
   */
  finish(queries: Fact | undefined): Facts {
    const facts: Facts = new Map(this.facts);
    for (const metric of ['h2dMs', 'd2hMs', 'enqueueMs']) {
      const value = (name: string): number => Number(facts.get(`${metric}.${name}`)?.text);
      const isOff = metric !== 'enqueueMs' && value('min') === 0 && value('max') === 0;
      const isNumber = ['min', 'max', 'median'].every((name) => Number.isFinite(value(name)));
      const mean = facts.get(`${metric}.mean`);
      const isWhole = isNumber && (mean === undefined || isFiniteText(mean.text));
      if (isOff || !isWhole) {
        for (const key of facts.keys()) if (key.startsWith(`${metric}.`)) facts.delete(key);
      }
    }
    for (const [key, { text }] of facts) if (!isFiniteText(text)) facts.delete(key);
    const qps = facts.get('throughputQps');
    const walltimeS = Number(facts.get('hostWalltimeS')?.text);
    if (qps !== undefined && Number(qps.text) === 0 && queries !== undefined && walltimeS > 0) {
      const text = String(Number(queries.text) / walltimeS);
      facts.set('throughputQps', { text, line: qps.line });
    }
    return facts;
  }
}
