import type { PhaseLimits, RunPhase, TimeLimit } from '../../records/time-limit.ts';

/**
 * Output at the start of each phase, for 8.x to 11.x. Without these lines the previous phase continues, and only the
 * limit of the whole process applies. `Warmup completed` appears when both warm-up and timed part are over.
 */
const MARKS: readonly { readonly phase: RunPhase; readonly texts: readonly string[] }[] = [
  { phase: 'while parsing the model', texts: ['] Start parsing network model'] },
  { phase: 'while building', texts: ['] Finished parsing network model'] },
  { phase: 'while loading the engine', texts: ['] Engine built in ', '] Created engine with size'] },
  { phase: 'in warm-up or the timed part', texts: ['] Starting inference'] },
  { phase: 'after the timed part', texts: ['] Warmup completed ', '] Skipped inference phase'] },
];

/** Limit for an unfinished line: a tensor dump may be one line of many megabytes. */
const MAX_LINE_CHARACTERS = 4096;

/** Follows the output of one trtexec process and detects a phase that exceeds its limit. The caller passes the time. */
export class PhaseWatch {
  private readonly limits: PhaseLimits;
  private readonly wholeS: number | null;
  private phase: RunPhase = 'before its first output';
  private since = 0;
  private partSince = 0;
  private next = 0;
  private readonly open = { stdout: '', stderr: '' };
  private lastLine: string | null = null;

  constructor(limits: PhaseLimits, wholeS: number | null) {
    this.limits = limits;
    this.wholeS = wholeS;
  }

  read(text: string, stream: 'stdout' | 'stderr', elapsedS: number): void {
    if (text === '') return;
    if (this.phase === 'before its first output') this.enter('while setting up', elapsedS);
    const whole = this.open[stream] + text;
    const end = whole.lastIndexOf('\n');
    this.open[stream] = whole.slice(end + 1).slice(-MAX_LINE_CHARACTERS);
    if (stream === 'stdout') this.findMarks(whole, elapsedS);
    this.lastLine = lastLineOf(whole) ?? this.lastLine;
  }

  get isInferring(): boolean {
    return this.phase === 'in warm-up or the timed part';
  }

  /** The limit that is exceeded at that time; null if none. */
  passed(elapsedS: number): TimeLimit | null {
    if (this.wholeS !== null && elapsedS >= this.wholeS) return this.whole(elapsedS);
    const limitS = this.limitOf(this.phase);
    if (limitS === null || elapsedS - this.partSince < limitS) return null;
    return { ...this.at(elapsedS), of: 'phase', limitS };
  }

  whole(elapsedS: number): TimeLimit {
    return { ...this.at(elapsedS), of: 'whole', limitS: this.wholeS ?? elapsedS };
  }

  private at(elapsedS: number): Omit<TimeLimit, 'of' | 'limitS'> {
    const open = this.open.stdout.trim() || this.open.stderr.trim();
    const lastLine = this.lastLine ?? (open === '' ? null : open);
    return { phase: this.phase, inPhaseS: elapsedS - this.since, lastLine };
  }

  private findMarks(text: string, elapsedS: number): void {
    for (let place = this.next; place < MARKS.length; place += 1) {
      const mark = MARKS[place];
      if (mark?.texts.some((words) => text.includes(words)) === true) {
        this.next = place + 1;
        this.enter(mark.phase, elapsedS);
      }
    }
  }

  private enter(phase: RunPhase, elapsedS: number): void {
    this.phase = phase;
    this.since = elapsedS;
    // Setup, parsing, building and loading share one limit, from the first output on.
    if (phase === 'while setting up' || !BEFORE_INFERENCE.includes(phase)) this.partSince = elapsedS;
  }

  private limitOf(phase: RunPhase): number | null {
    const { firstOutputS, loadS, timedPartS, endS } = this.limits;
    if (phase === 'before its first output') return firstOutputS;
    if (BEFORE_INFERENCE.includes(phase)) return loadS;
    return phase === 'in warm-up or the timed part' ? timedPartS : endS;
  }
}

const BEFORE_INFERENCE: readonly RunPhase[] = [
  'while setting up',
  'while parsing the model',
  'while building',
  'while loading the engine',
];

function lastLineOf(text: string): string | null {
  const lines = text.slice(-MAX_LINE_CHARACTERS).split('\n');
  const line = lines.findLast((each) => each.replace(/^\[[^\]]*\] \[\w\]/, '').trim() !== '');
  return line === undefined ? null : line.trim();
}
