import { type Facts, isFiniteText, isNumberLike } from './facts.ts';
import { DEVICE_LINES, type LinePattern, OPTION_LINES, OPTION_SECTIONS, PHASE_LINES } from './line-patterns.ts';
import { ProfileFacts } from './profile-facts.ts';
import { SummaryFacts } from './summary-facts.ts';

const AVERAGE = /^Average on (\d+) runs - GPU latency: (\S+) ms - Host latency: (\S+) ms/;
const ENQUEUE = /[(\s]enqueue (\S+) ms\)/;
const CAPTURES = [
  ['capturesStarted', 'Capturing CUDA graph for the current execution context'],
  ['capturesSucceeded', 'Successfully captured CUDA graph for the current'],
] as const;

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
  private readonly counts = new Map<string, number>();
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
    if (text.startsWith('Average on ')) this.takeAverages(text, line);
    const binding = /^Input binding for (.*) with dimensions (\S*) is created/.exec(text);
    if (binding !== null) this.facts.set(`binding.${binding[1]}`, { text: binding[2] ?? '', line });
    const version = /^TensorRT version: (\d+\.\d+\.\d+)/.exec(text)?.[1];
    if (version !== undefined && !this.facts.has('version')) {
      this.facts.set('version', { text: version, line });
    }
    for (const [key, words] of CAPTURES) {
      if (text.includes(words)) {
        this.facts.set(key, { text: String(this.countUp(key) + 1), line });
      }
    }
    this.match(PHASE_LINES, text, line);
  }

  private takeAverages(text: string, line: number): void {
    const [, runs = '', gpuMs = '', hostMs = ''] = AVERAGE.exec(text) ?? [];
    const enqueueMs = ENQUEUE.exec(text)?.[1] ?? '';
    if (!isNumberLike(gpuMs) || !isNumberLike(hostMs)) return;
    this.facts.set('averagesOf', { text: runs, line });
    for (const [column, figure] of Object.entries({ gpuMs, hostMs, enqueueMs })) {
      if (isNumberLike(figure)) {
        const index = this.countUp(column);
        this.facts.set(`trace.${column}.${index}`, { text: figure, line });
      }
    }
  }

  /** How often it was called for this key before. */
  private countUp(key: string): number {
    const before = this.counts.get(key) ?? 0;
    this.counts.set(key, before + 1);
    return before;
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
