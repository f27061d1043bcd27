import { type Fact, type Facts, isFiniteText, isNumberLike } from './facts.ts';
import { DEVICE_LINES, type LinePattern, OPTION_LINES, OPTION_SECTIONS, PHASE_LINES } from './line-patterns.ts';

/** What the `[I]` lines of one trtexec process say, gathered line by line. */
export class RunFacts {
  readonly firstLine: number;
  /** True when a `&&&& RUNNING` line opened it. */
  readonly marked: boolean;
  /** True when trtexec's logger spoke in it. */
  speaks: boolean;
  closing: string | null = null;
  /** True when another process wrote to the log at the same time: which process wrote a line is unknown. */
  overlaps = false;
  private readonly command: string | null;
  private readonly facts: Facts = new Map();
  private readonly banner = new Set<string>();
  private section = '';
  private summary = new SummaryFacts();
  private complete: SummaryFacts | null = null;
  private profile: ProfileFacts | null = null;

  constructor(firstLine: number, marker: string | null) {
    this.firstLine = firstLine;
    this.marked = marker !== null;
    this.command = marker === null ? null : commandIn(marker);
    this.speaks = this.marked;
    if (marker !== null) this.takeVersion(marker, firstLine);
    // From 10.0 on the banner does not say it.
    const engine = / --loadEngine=(.*?)(?= --|$)/.exec(marker ?? '')?.[1];
    if (engine !== undefined) this.facts.set('loadEngine', { text: engine, line: firstLine });
    const shapes = / --shapes=(\S+)/.exec(marker ?? '')?.[1]?.matchAll(/([^,]+):(\d+(?:x\d+)*)(?=,|$)/g) ?? [];
    for (const [, name, text = ''] of shapes) this.facts.set(`shape.${name}`, { text, line: firstLine });
  }

  /** False when a section of the banner comes a second time. */
  enterOptions(heading: string): boolean {
    if (this.banner.has(heading)) return false;
    this.banner.add(heading);
    return true;
  }

  /** True when a closing line can be the end of this run. */
  canEndWith(marker: string): boolean {
    return this.closing === null && (this.command === null || this.command === commandIn(marker));
  }

  /** A `&&&& PASSED`, `FAILED` or `WAIVED` line. */
  close(word: string, marker: string, line: number): void {
    this.speaks = true;
    this.closing = word;
    this.takeVersion(marker, line);
  }

  private takeVersion(marker: string, line: number): void {
    const digits = /\[TensorRT v(\d+)\]/.exec(marker)?.[1];
    if (digits !== undefined && !this.facts.has('version')) {
      this.facts.set('version', { text: decoded(digits), line });
    }
  }

  /** One message with severity `[I]`, without its prefix. */
  take(text: string, line: number, isLibrary: boolean): void {
    const heading = /^=== (.+?) ===/.exec(text)?.[1];
    if (heading !== undefined) {
      this.enter(heading, line);
      return;
    }
    const options = OPTION_SECTIONS.find((name) => this.section === `${name} Options`);
    if (text.trim() === '') {
      this.section = '';
    } else if (options !== undefined) {
      if (!isLibrary) this.takeOption(OPTION_LINES[options], text, line);
    } else if (this.section === 'Device Information') this.match(DEVICE_LINES, text, line);
    else if (this.section === 'Profile') this.profile?.take(text, line);
    else this.takePhase(text, line);
  }

  private enter(heading: string, line: number): void {
    const iterations = /^Profile \((\d+) iterations ?\)$/.exec(heading)?.[1];
    this.section = iterations === undefined ? heading : 'Profile';
    if (iterations !== undefined) this.profile = new ProfileFacts(iterations, line);
    if (heading === 'Performance summary') this.summary = new SummaryFacts();
  }

  private takeOption(patterns: readonly LinePattern[], text: string, line: number): void {
    const colon = text.indexOf(':');
    if (colon > 0) {
      const key = `banner.${this.section}.${text.slice(0, colon).trim()}`;
      const value = text.slice(colon + 1).trim();
      const before = this.facts.get(key)?.text ?? '';
      this.facts.set(key, { text: before === '' ? value : `${before},${value}`, line });
    }
    this.match(patterns, text, line);
    const shape = /^Input inference shape ?: (.+)=(\d.*)$/.exec(text);
    if (shape !== null) this.facts.set(`shape.${shape[1]}`, { text: shape[2] ?? '', line });
    const build = /^Input build shape(?: \(profile 0\))?: (.+)=(\S+)$/.exec(text);
    if (build !== null) this.facts.set(`buildShape.${build[1]}`, { text: build[2] ?? '', line });
  }

  private takePhase(text: string, line: number): void {
    if (this.summary.take(text, line)) {
      if (this.summary.isComplete) this.complete = this.summary;
      return;
    }
    const binding = /^Input binding for (.*) with dimensions (\S*) is created/.exec(text);
    if (binding !== null) this.facts.set(`binding.${binding[1]}`, { text: binding[2] ?? '', line });
    const version = /^TensorRT version: (\d+\.\d+\.\d+)/.exec(text)?.[1];
    if (version !== undefined && !this.facts.has('version')) {
      this.facts.set('version', { text: version, line });
    }
    this.match(PHASE_LINES, text, line);
  }

  private match(patterns: readonly LinePattern[], text: string, line: number): void {
    for (const { pattern, keys, isWord } of patterns) {
      const groups = pattern.exec(text)?.slice(1);
      if (groups === undefined || (isWord !== true && !groups.every(isNumberLike))) continue;
      keys.forEach((key, index) => {
        const found = groups[index] ?? '';
        if (isWord === true || isFiniteText(found)) this.facts.set(key, { text: found, line });
        else this.facts.delete(key);
      });
    }
  }

  /** True when a whole performance report was printed. */
  get isMeasured(): boolean {
    return this.complete?.isComplete === true;
  }

  finish(): Facts {
    const queries = this.facts.get('queries');
    const verbosity = this.facts.get('nvtxVerbosity');
    this.facts.delete('nvtxVerbosity');
    if (verbosity !== undefined && !this.facts.has('profilingVerbosity')) {
      this.facts.set('profilingVerbosity', verbosity);
    }
    return new Map([
      ...this.facts,
      ...(this.isMeasured ? (this.complete?.finish(queries) ?? []) : []),
      ...(this.profile?.finish() ?? []),
    ]);
  }
}

function commandIn(marker: string): string {
  return marker.slice(`${marker} # `.indexOf(' # '));
}

/** `v8601` is 8.6.1, `v100600` is 10.6.0. */
function decoded(digits: string): string {
  const [major, minor, patch] =
    digits.length <= 4
      ? [digits.slice(0, -3), digits.slice(-3, -2), digits.slice(-2)]
      : [digits.slice(0, -4), digits.slice(-4, -2), digits.slice(-2)];
  return [major, minor, patch].map(Number).join('.');
}

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

/** Without these there is no measurement; a mean may be missing. */
const NEEDED = [
  'throughputQps',
  'hostWalltimeS',
  ...['latencyMs', 'gpuComputeMs'].flatMap((metric) =>
    ['min', 'max', 'median', 'mean'].map((name) => `${metric}.${name}`),
  ),
];

function drop(facts: Facts, metric: string): void {
  for (const key of facts.keys()) if (key.startsWith(`${metric}.`)) facts.delete(key);
}

/** The figures of one performance report. End-to-end times of 7.x to 8.2 are left out, as bench does not keep them. */
class SummaryFacts {
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
    drop(this.facts, metric);
    for (const [, name = '', value = ''] of statistics.matchAll(STATISTIC)) {
      const percent = /^percentile\((\S+)%\)$/.exec(name)?.[1];
      const key = percent === undefined ? name : `p${Number(percent)}`;
      if (isNumberLike(value)) this.facts.set(`${metric}.${key}`, { text: value, line });
    }
  }

  private take7(text: string, line: number): boolean {
    const heading = HEADINGS_7.get(text);
    if (heading !== undefined) {
      this.metric7 = heading;
      drop(this.facts, heading);
      return true;
    }
    if (this.metric7 === null) return false;
    const [, name, figure, percent] = /^(min|max|mean|median|percentile): (\S+) ms(?: at (\S+)%)?/.exec(text) ?? [];
    if (figure === undefined || (name === 'percentile') !== (percent !== undefined)) return false;
    const key = percent === undefined ? name : `p${Number(percent)}`;
    this.facts.set(`${this.metric7}.${key}`, { text: figure, line });
    return true;
  }

  get isComplete(): boolean {
    return NEEDED.every((key) => {
      const text = this.facts.get(key)?.text;
      return text === undefined ? key.endsWith('.mean') : isFiniteText(text);
    });
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
      if (isOff || !isWhole) drop(facts, metric);
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

/** The table of `--dumpProfile`, in any of its three layouts. */
class ProfileFacts {
  private readonly facts: Facts = new Map();
  private columns: readonly string[] | null = null;
  private nameLast = false;
  private rows = 0;

  constructor(iterations: string, line: number) {
    this.facts.set('profile.iterations', { text: iterations, line });
  }

  take(text: string, line: number): void {
    if (this.columns === null) this.takeHeading(text);
    else this.takeRow(this.columns, text, line);
  }

  private takeHeading(text: string): void {
    if (!text.includes('Layer')) return;
    this.nameLast = text.trimEnd().endsWith('Layer');
    this.columns = text.includes('Median')
      ? ['timeMs', 'averageMs', 'medianMs', 'percentage']
      : ['timeMs', 'averageMs', 'percentage'];
  }

  private takeRow(columns: readonly string[], text: string, line: number): void {
    const figures = String.raw`(?:\S+ +){${columns.length - 1}}\S+`;
    const row = new RegExp(this.nameLast ? `^ *(${figures})(?: {3}|$)(.*)$` : `^(.*?)(${figures}) *$`).exec(text);
    const [found = '', name = ''] = this.nameLast ? [row?.[1], row?.[2]] : [row?.[2], row?.[1]?.trim()];
    const numbers = found.split(/ +/);
    if (row === null || name === 'Total' || !numbers.every((word) => /^[-+.\deinfa]+$/.test(word))) return;
    columns.forEach((column, index) => {
      this.facts.set(`profile.${this.rows}.${column}`, { text: numbers[index] ?? '', line });
    });
    this.facts.set(`profile.${this.rows}.name`, { text: name, line });
    this.rows += 1;
  }

  finish(): Facts {
    return this.rows === 0 ? new Map() : this.facts;
  }
}
