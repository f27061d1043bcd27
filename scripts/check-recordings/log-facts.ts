import type { LogStream } from '../../src/records/outcome.ts';
import { type Facts, isFiniteText } from './facts.ts';
import { REMARKS } from './line-patterns.ts';
import { RunFacts } from './run-facts.ts';

const PREFIX = /(?=\[\d\d\/\d\d\/\d{4}-\d\d:\d\d:\d\d\] \[[FEWIV]\])/;
const MESSAGE = /^\[[\d/]{10}-[\d:]{8}\] \[([FEWIV])\](?: (?:(\[TRT\] )?(.*))?)?$/s;
/** At the start of a line, or behind what another tool put there. */
const MARKER = /^&&&& .*|&&&& (?:(?:RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec (?:\[TensorRT v|# )|TASK_\w+ \[).*/;
// oxlint-disable-next-line no-control-regex -- colours of whoever wrote the log down
const COLOUR = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** A line of a log that the program quotes. */
export function placeOf(stream: LogStream, line: number): string {
  return `${stream}:${line}`;
}

/**
 * Reads a log of trtexec in the simplest way that can be, without any code of the program's parser: it is what the
 * parser is measured against.
 */
export class LogFacts {
  /** Numbers of remarks and texts of `[E]` and `[F]` lines, by kind and place. */
  readonly remarks: Facts = new Map();
  /** Whole lines that are quoted, by place. */
  readonly quoted = new Map<string, string>();
  private readonly runs: RunFacts[] = [];
  private open: RunFacts[] = [];
  private childExpected = false;
  private readonly wanted: ReadonlySet<string>;

  constructor(wanted: ReadonlySet<string>) {
    this.wanted = wanted;
  }

  take(stream: LogStream, raw: string, line: number): void {
    const text = raw.replace(COLOUR, '').replace(/\r$/, '');
    const place = placeOf(stream, line);
    if (this.wanted.has(place)) this.quoted.set(place, text);
    for (const piece of text.split(PREFIX)) {
      const message = MESSAGE.exec(piece);
      if (message !== null) this.takeMessage(stream, message, line);
      else if (stream === 'stdout') this.takeMarker(MARKER.exec(piece)?.[0] ?? '', line);
    }
  }

  private takeMessage(stream: LogStream, message: RegExpExecArray, line: number): void {
    const [, severity = '', library, text = ''] = message;
    if (severity === 'V') return;
    if (severity === 'E' || severity === 'F') {
      this.remarks.set(`error ${placeOf(stream, line)}`, { text: text.trim(), line });
    }
    for (const { id, pattern } of REMARKS) {
      const value = pattern.exec(text)?.[1];
      if (value !== undefined && isFiniteText(value)) {
        this.remarks.set(`${id} ${placeOf(stream, line)}`, { text: value, line });
      }
    }
    if (stream === 'stderr') return;
    let run = this.current(line);
    const heading = /^=== (.+) Options ===/.exec(text)?.[1];
    if (severity === 'I' && heading !== undefined && !run.enterOptions(heading)) {
      // The banner of another run: of the next one where no marker says so.
      if (run.marked) run.overlaps = true;
      else {
        run = this.start(line, null);
        run.enterOptions(heading);
      }
    }
    run.speaks = true;
    if (severity === 'I') run.take(text, line, library !== undefined);
  }

  private takeMarker(text: string, line: number): void {
    const word = /^&&&& (\w+)/.exec(text)?.[1];
    if (word === 'RUNNING') {
      if (!this.childExpected) this.open = [];
      this.childExpected = false;
      this.open.push(this.start(line, text));
    } else if (word === 'TASK_BEGIN') this.childExpected = true;
    else if (word === 'TASK_END' || word === 'TASK_ABORT') {
      this.childExpected = false;
      if (this.open.length > 1) this.open.pop();
    } else if (word === 'PASSED' || word === 'FAILED' || word === 'WAIVED') {
      const current = this.current(line);
      if (!current.canEndWith(text)) this.findOverlap(text, current);
      current.close(word, text, line);
      this.open.pop();
    }
  }

  /** The end of an earlier run, after the start of another one: both wrote at the same time. */
  private findOverlap(text: string, current: RunFacts): void {
    const first = this.runs.findIndex((run) => run !== current && run.canEndWith(text));
    if (first !== -1) for (const run of this.runs.slice(first)) run.overlaps = true;
  }

  private current(line: number): RunFacts {
    return this.open.at(-1) ?? this.runs.at(-1) ?? this.start(line, null);
  }

  private start(line: number, marker: string | null): RunFacts {
    const run = new RunFacts(line, marker);
    this.runs.push(run);
    return run;
  }

  /** The runs in which trtexec speaks; none in a log that says nothing. */
  finish(): readonly RunFacts[] {
    return this.runs.filter(({ speaks }) => speaks);
  }
}
