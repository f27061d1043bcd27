import { omittedBytesIn } from '../../text/printable.ts';
import { parseShapes, type Shapes } from '../../records/cell.ts';
import type { Evidence } from '../../records/outcome.ts';
import type { Immutable } from '../../records/scalars.ts';
import { parseTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';
import { flagsIn } from '../flags/flag-table.ts';
import { LayerTextReader } from '../exports/layer-info.ts';
import { contradictionIn, type CountedQueries, countQueries } from './check-numbers.ts';
import { FailureDraft } from './failure-rules.ts';
import { findHints, type Hint } from './hints.ts';
import type { LogMessage, Marker } from './log-lines.ts';
import {
  deviceFacts,
  effectiveOptions,
  finiteOrNull,
  isoOfStamp,
  parseDimensions,
  PhaseFacts,
} from './printed-facts.ts';
import { ProfileTable, Summary } from './report.ts';

const HEADING = /^=== (.+?) ===/;
export const TYPED_COMMAND = /(?:^|[\s#$>/\\])(trtexec(?:\.exe)? +--\S.*?)(?: *\d?[>|&;].*)?$/;
const OPTION_SECTION = /^(?:Model|Build|System|Inference|Reporting) Options$/;
const INPUT_BINDING = /^Input binding for (.*) with dimensions (\S*) is created/;
const MAX_ERRORS = 100;
/** An error of the library whose line lacks the severity. */
const STRIPPED_ERROR = /^(?:Error\[\d+\]: |\d+: \[)|: Error Code \d+: /;
/** Number of hints of each kind that are kept: a verbose build repeats some of them thousands of times. */
const MAX_HINTS_OF_A_KIND = 20;

export class RunBuilder {
  firstTime: string | null = null;
  /** True after output of trtexec itself: a marker, a line of its logger, or the loader's error about it. */
  speaks = false;
  overlaps = false;
  /** True after output other than warnings and errors. */
  informs = false;
  /** True if the lines lack their prefix. */
  private isStripped = false;
  private isPrefixed = false;
  /** True after the heading of the options without a prefix, which help texts have, too. */
  private awaitsOptions = false;
  private startMarker: Marker | null = null;
  private endMarker: Marker | null = null;
  /** The command that somebody typed, which precedes the output. */
  private typedCommand: string | null = null;
  private closingMarker: 'PASSED' | 'FAILED' | 'WAIVED' | null = null;
  private version: TensorrtVersion | null = null;
  private helpPrinted = false;
  private omittedBytes = 0;
  private section: string | null = null;
  private readonly sections = new Set<string>();
  private readonly banner: Record<string, Record<string, string>> = Object.create(null);
  private readonly inputBindings: Record<string, number[]> = Object.create(null);
  private readonly device = new Map<string, string>();
  private readonly phases = new PhaseFacts();
  private summary = new Summary();
  private measured: Summary | null = null;
  /** The numbers of complete summaries before the last one, as JSON. */
  private readonly earlierSummaries = new Set<string>();
  private profile: ProfileTable | null = null;
  private readonly hints: Hint[] = [];
  private readonly hintCounts = new Map<string, number>();
  private readonly failures = new FailureDraft();
  private readonly errors: Evidence[] = [];
  private readonly layerText = new LayerTextReader();

  get saysAnything(): boolean {
    return this.speaks || this.failures.found.length > 0;
  }

  /** True if there were only warnings so far, and no marker: the marker of their run follows. */
  get warnsOnly(): boolean {
    return !this.isMarked && !this.informs && this.speaks && this.failures.found.length === 0;
  }

  get isMarked(): boolean {
    return this.startMarker !== null;
  }

  /** True if `text` is the heading of an options section that was already read. */
  hasSection(text: string): boolean {
    const heading = text.startsWith('===') ? HEADING.exec(text)?.[1] : undefined;
    return heading !== undefined && this.sections.has(heading);
  }

  start(marker: Marker): void {
    this.startMarker = marker;
    this.version = marker.version;
    this.speaks = true;
  }

  awaits({ commandLine }: Marker): boolean {
    if (this.closingMarker !== null) return false;
    return this.startMarker === null || this.startMarker.commandLine === commandLine;
  }

  close(marker: Marker): void {
    const { result, version } = marker;
    this.speaks = true;
    this.version ??= version;
    this.endMarker = marker;
    if (result === 'PASSED' || result === 'FAILED' || result === 'WAIVED') this.closingMarker = result;
  }

  read(message: LogMessage): void {
    const { severity } = message;
    if (severity === null) {
      this.readUnprefixed(message);
      return;
    }
    this.speaks = true;
    this.firstTime ??= message.time;
    if (severity === 'I') {
      this.isPrefixed = true;
      this.readInformation(message);
      return;
    }
    this.keepHints(message);
    this.readFailure(message);
    if (severity !== 'W') this.keepError(message);
  }

  private readUnprefixed(message: LogMessage): void {
    const omitted = omittedBytesIn(message.text);
    if (omitted !== null) {
      this.omittedBytes += omitted;
      this.section = null;
      this.layerText.stop();
      return;
    }
    this.typedCommand = TYPED_COMMAND.exec(message.text)?.[1] ?? this.typedCommand;
    // `grep -C` prints this line where it left something out.
    if (message.text === '--') this.summary.endBlock();
    if (this.layerText.push(message.text)) {
      if (message.text.startsWith('Name: ')) this.speaks = true;
      return;
    }
    this.readFailure(message);
    if (!this.isPrefixed && this.isStrippedAt(message.text)) {
      this.readStripped(message);
      return;
    }
    if (/^=== (?:Model|Build|Inference|Reporting|Help) Options ===|^Help:|^usage: /i.test(message.text)) {
      this.helpPrinted = true;
    }
    if (this.failures.found.length > 0 && message.text.includes('trtexec')) this.speaks = true;
    if (/\.cache\.lock|\.qdstrm/.test(message.text)) this.keepHints(message);
  }

  /** Help texts and banners have the same headings. Only the lines below tell them apart. */
  private isStrippedAt(text: string): boolean {
    if (this.isStripped) return true;
    if (this.awaitsOptions && /^(?:Format|Model): /.test(text)) {
      this.helpPrinted = false;
      this.section = 'Model Options';
      this.sections.add(this.section);
      this.isStripped = true;
    }
    this.awaitsOptions = text === '=== Model Options ===';
    return this.isStripped || (this.isStripped = text === '=== Performance summary ===');
  }

  private readFailure(message: LogMessage): void {
    this.failures.read(message, () => this.options().loadEngine !== null && this.phases.deserializedS === null);
  }

  private keepError({ stream, line, text }: LogMessage): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push({ stream, line, text: text.trim() });
  }

  private readStripped(message: LogMessage): void {
    const text = message.text.replace(/^\[TRT\] /, '');
    const fromLibrary = text !== message.text;
    this.speaks = true;
    if (STRIPPED_ERROR.test(text)) this.keepError(message);
    else this.readInformation({ ...message, text, fromLibrary });
  }

  private readInformation(message: LogMessage): void {
    const { text, fromLibrary } = message;
    this.informs = true;
    if (message.severity !== null) this.readFailure(message);
    if (text === 'Layers:') {
      this.layerText.push(text);
      return;
    }
    if (!fromLibrary) this.layerText.stop();
    const heading = text.startsWith('===') ? HEADING.exec(text) : null;
    if (heading !== null) {
      this.enter(heading[1] ?? '', text);
      return;
    }
    if (text.trim() === '') {
      this.section = null;
      return;
    }
    const colon = text.indexOf(':');
    const [key, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
    if (this.section !== null && OPTION_SECTION.test(this.section)) {
      if (!fromLibrary && colon > 0) this.readOption(this.section, key, value);
      return;
    }
    if (this.section === 'Device Information' && colon > 0) this.device.set(key, value);
    // An empty line ends a section, but some tools remove it.
    if (this.section === 'Profile' && this.profile?.read(text) === true) return;
    this.readReport(message);
  }

  private readOption(section: string, key: string, value: string): void {
    const keys: Record<string, string> = (this.banner[section] ??= Object.create(null));
    // Shapes are printed on one line per input: join them.
    keys[key] = keys[key] ? `${keys[key]},${value}` : value;
  }

  private enter(heading: string, text: string): void {
    const table = ProfileTable.at(text);
    this.profile = table ?? this.profile;
    this.section = table === null ? heading : 'Profile';
    if (OPTION_SECTION.test(heading)) this.sections.add(heading);
    if (heading === 'Performance summary') this.summary = new Summary();
  }

  private readReport(message: LogMessage): void {
    const { text } = message;
    if (this.summary.read(text)) {
      // The last complete report of a run counts.
      if (this.summary.finish() === null) return;
      const before = this.measured;
      if (before !== null && before !== this.summary && this.earlierSummaries.size < 2) {
        this.earlierSummaries.add(JSON.stringify(before));
      }
      this.measured = this.summary;
      return;
    }
    this.summary.endBlock();
    if (text.startsWith('TensorRT version: ')) {
      this.version ??= parseTensorrtVersion(text.slice('TensorRT version: '.length));
      return;
    }
    const binding = INPUT_BINDING.exec(text);
    if (binding !== null) this.inputBindings[binding[1] ?? ''] = parseDimensions(binding[2] ?? '') ?? [];
    this.phases.read(text);
    this.keepHints(message);
  }

  /** Since 10.0 the banner omits the engine if one is loaded; an excerpt may lack the banner. */
  private options() {
    const options = effectiveOptions(this.banner);
    const flags = flagsIn(this.commandLine);
    const stated = parseShapes(flags.get('--shapes') ?? '') ?? {};
    const shapes = Object.keys(options.shapes).length > 0 ? options.shapes : stated;
    return { ...options, loadEngine: options.loadEngine ?? flags.get('--loadEngine') ?? null, shapes };
  }

  private get commandLine(): string | null {
    return (this.startMarker ?? this.endMarker)?.commandLine ?? this.typedCommand;
  }

  /** From the inference options; otherwise from the command line. */
  private batch(): number | null {
    const stated = flagsIn(this.commandLine).get('--batch');
    return finiteOrNull(this.banner['Inference Options']?.['Batch']) ?? finiteOrNull(stated);
  }

  private contradiction(counted: CountedQueries): string | null {
    const { measurement, queries } = counted;
    if (this.measured === null || measurement === null) return null;
    const newest = JSON.stringify(this.measured);
    if ([...this.earlierSummaries].some((summary) => summary !== newest)) {
      return 'it printed two different performance summaries';
    }
    const statistics = this.measured.printed();
    return contradictionIn({ statistics, measurement, queries, version: this.version });
  }

  private keepHints(message: LogMessage): void {
    for (const hint of findHints(message)) {
      const seen = (this.hintCounts.get(hint.id) ?? 0) + 1;
      this.hintCounts.set(hint.id, seen);
      if (seen <= MAX_HINTS_OF_A_KIND) this.hints.push(hint);
    }
  }

  finish() {
    const cacheFailed = this.hintCounts.has('cache_fail');
    const causes = this.failures.finishCauses(cacheFailed);
    const { queries, warmUpQueries, ...build } = this.phases;
    const printed = { queries, warmUpQueries, measurement: this.measured?.finish() ?? null };
    const counted = countQueries(printed, this.batch());
    // With two processes in one log, nobody can say whose numbers these are.
    const measurement = this.overlaps ? null : counted.measurement;
    const isExcerpt = !this.overlaps && measurement === null;
    return {
      /** The text after `#` in the marker. trtexec joined it without quotes, so it cannot be split reliably. */
      commandLine: this.commandLine,
      tensorrtVersion: this.version,
      closingMarker: this.closingMarker,
      startedByMarker: this.isMarked,
      /** The time of its first line, `YYYY-MM-DDTHH:MM:SS`: local time of that machine, without a zone. Null if invalid. */
      startedAtLocal: this.firstTime === null ? null : isoOfStamp(this.firstTime),
      /** True if another trtexec wrote to the same log at the same time, so that no number can be attributed. */
      overlaps: this.overlaps,
      helpPrinted: this.helpPrinted,
      /** Minimum number of bytes removed from the middle of a long log; 0 for a whole log. */
      omittedBytes: this.omittedBytes,
      banner: this.banner,
      options: this.options(),
      device: deviceFacts(this.device),
      build,
      /** Actual input shapes, from the bindings. */
      inputBindings: this.inputBindings,
      ...counted,
      measurement,
      /** Numbers of an incomplete summary; null if there is a measurement, or no number at all. */
      excerpt: isExcerpt ? (this.measured ?? this.summary).excerpt() : null,
      /** Two contradicting numbers of this run, in words; null if there are none. */
      contradiction: this.contradiction(counted),
      profile: this.profile?.finish() ?? null,
      layerInfo: this.layerText.finish(),
      hints: this.hints,
      /** Lines that name a cause of failure, most specific first. */
      failures: this.failures.finish(causes),
      /** The first lines that say why something failed, whether or not their reason is known. */
      causes,
      /** `[E]` and `[F]` lines, the first 100. */
      errors: this.errors,
    };
  }
}

export type TrtexecRun = Immutable<ReturnType<RunBuilder['finish']>>;

export function silentRun(): TrtexecRun {
  return new RunBuilder().finish();
}

/** The input shapes: as requested, else from the engine's bindings. */
export function shapesOf({ options, inputBindings }: TrtexecRun): Shapes {
  return Object.keys(options.shapes).length > 0 ? options.shapes : inputBindings;
}
