import type { PhaseLimits, TimeLimit } from '../../records/time-limit.ts';

interface Phase {
  readonly phase: string;
  readonly limit: keyof PhaseLimits;
  readonly texts: readonly string[];
}

const BEFORE_OUTPUT: Phase = { phase: 'before its first output', limit: 'firstOutputS', texts: [] };
const BEFORE_INFERENCE: Phase = { phase: 'before its first inference', limit: 'loadS', texts: [] };

/**
 * The phases with the output at their start, for 8.x to 11.x. Without these lines the previous phase continues, and only
 * the limit of the whole process applies. `Warmup completed` appears when both warm-up and timed part are over.
 */
const PHASES: readonly Phase[] = [
  BEFORE_OUTPUT,
  BEFORE_INFERENCE,
  { phase: 'in warm-up or the timed part', limit: 'timedPartS', texts: ['] Starting inference'] },
  { phase: 'after the timed part', limit: 'endS', texts: ['] Warmup completed ', '] Skipped inference phase'] },
];

/** Limit for an unfinished line: a tensor dump may be one line of many megabytes. */
const MAX_LINE_CHARACTERS = 4096;

/** Follows the output of one trtexec process and detects a phase that exceeds its limit. The caller passes the time. */
export class PhaseWatch {
  private readonly limits: PhaseLimits;
  private readonly wholeS: number | null;
  private current = BEFORE_OUTPUT;
  private since = 0;
  private readonly open = { stdout: '', stderr: '' };
  private lastLine: string | null = null;

  constructor(limits: PhaseLimits, wholeS: number | null) {
    this.limits = limits;
    this.wholeS = wholeS;
  }

  read(text: string, stream: 'stdout' | 'stderr', elapsedS: number): void {
    if (text === '') return;
    if (this.current === BEFORE_OUTPUT) this.enter(BEFORE_INFERENCE, elapsedS);
    const whole = this.open[stream] + text;
    const end = whole.lastIndexOf('\n');
    this.open[stream] = whole.slice(end + 1).slice(-MAX_LINE_CHARACTERS);
    if (stream === 'stdout') this.findMarks(whole, elapsedS);
    this.lastLine = lastLineOf(whole) ?? this.lastLine;
  }

  get isInferring(): boolean {
    return this.current.phase === 'in warm-up or the timed part';
  }

  /** The limit that is exceeded at that time; null if none. */
  passed(elapsedS: number): TimeLimit | null {
    if (this.wholeS !== null && elapsedS >= this.wholeS) return this.whole(elapsedS);
    const limitS = this.limits[this.current.limit];
    if (limitS === null || elapsedS - this.since < limitS) return null;
    return { ...this.at(elapsedS), of: 'phase', limitS };
  }

  whole(elapsedS: number): TimeLimit {
    return { ...this.at(elapsedS), of: 'whole', limitS: this.wholeS ?? elapsedS };
  }

  private at(elapsedS: number): Omit<TimeLimit, 'of' | 'limitS'> {
    return { phase: this.current.phase, inPhaseS: elapsedS - this.since, lastLine: this.lastLine };
  }

  private findMarks(text: string, elapsedS: number): void {
    for (const phase of PHASES.slice(PHASES.indexOf(this.current) + 1)) {
      if (phase.texts.some((words) => text.includes(words))) this.enter(phase, elapsedS);
    }
  }

  private enter(phase: Phase, elapsedS: number): void {
    this.current = phase;
    this.since = elapsedS;
  }
}

function lastLineOf(text: string): string | null {
  const lines = text.slice(-MAX_LINE_CHARACTERS).split('\n');
  return lines.findLast((each) => each.replace(/^\[[^\]]*\] \[\w\]/, '').trim() !== '')?.trim() ?? null;
}
