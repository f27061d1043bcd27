import type { Plan, PlannedRun } from '../records/plan.ts';
import type { SweepEvent } from './sweep-context.ts';
import { textWidth, truncate } from '../terminal/look.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { Io } from '../cli/io.ts';
import { engineBuilds, type TimeEstimates, totalEstimateS } from '../matrix/plan/assign-gpus.ts';
import { pairRunName } from '../judge/gate/judge-pairs.ts';
import { convertedWords } from '../records/conversion.ts';
import { gateMetric, metricOf } from '../records/metric.ts';
import type { Outcome } from '../records/outcome.ts';
import { printable } from '../text/printable.ts';
import { count, formatDuration, formatMs, formatNumber, runsAndEngines } from '../terminal/numbers.ts';
import { outcomeText } from '../terminal/words.ts';
import type { RunId } from '../records/scalars.ts';

const REDRAW_MS = 1000;
const BAR_WIDTH = 24;
const LONGEST_EVIDENCE = 160;
/** On a terminal only these lines stay above; the final table lists the rest. */
const TROUBLE = ['variantFailed', 'buildFailed', 'note', 'gpuTakenOut', 'measuredAgain', 'runSkipped'];

/** Prints the events of a sweep as lines; on a terminal it redraws what runs now and how much is left. */
export class LiveProgress {
  private readonly io: Io;
  private readonly plan: Plan;
  private readonly isReplay: boolean;
  private readonly known: TimeEstimates | null;
  private readonly labels: ReadonlyMap<string, string>;
  private readonly timer: NodeJS.Timeout | null;
  private readonly startMs: number;
  /** Lines at the end of the terminal that replace themselves. */
  private drawn: readonly string[] = [];
  private total: number;
  private done = 0;
  private bad = 0;
  private readonly current = new Map<string | null, string>();
  /** References of variants and builds that are over, and of builds that are there. */
  private readonly over = new Set<string>();
  private readonly built = new Set<string>();
  private runsLeftS: number;
  private spentS = 0;
  private estimatedS = 0;

  constructor(plan: Plan, { recordings }: Pick<TrtexecProgram, 'recordings'>, io: Io, known?: TimeEstimates) {
    this.io = io;
    this.known = known ?? null;
    this.plan = plan;
    this.isReplay = recordings !== null;
    this.labels = new Map(plan.cells.map(({ cell, label }) => [cell.key, printable(label)]));
    this.timer = io.isInteractive ? setInterval(() => this.draw([], this.live()), REDRAW_MS).unref() : null;
    this.startMs = io.now().getTime();
    this.total = plan.runs.length;
    this.runsLeftS = this.secondsOf({ runs: plan.runs });
  }

  /** @param gpu null where there is only one */
  take(event: SweepEvent, gpu: string | null = null): void {
    const text = this.lineOf(event, gpu);
    const line = text === null || gpu === null ? text : `${gpu} · ${text}`;
    const isBad = event.kind === 'runDone' && event.record.outcome.kind !== 'measured';
    if (this.io.isInteractive) {
      this.draw(line !== null && (isBad || TROUBLE.includes(event.kind)) ? [line] : [], this.live());
    } else if (line !== null) this.io.err(`${line}\n`);
  }

  /** Replaces the redrawn lines with a permanent one. */
  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
    const { columns, style } = this.io.errLook;
    if (this.drawn.length > 0) this.draw([style.dim(truncate(this.summary(), columns - 1))], []);
  }

  /** One write. A terminal that became narrower has wrapped the lines drawn before. */
  private draw(staying: readonly string[], lines: readonly string[]): void {
    const { columns } = this.io.errLook;
    const rows = this.drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns)), 0);
    const eraser = rows === 0 ? '' : `\u001b[${rows}A\u001b[0J`;
    const text = [...staying, ...lines].map((line) => `${line}\n`).join('');
    this.io.err(`${eraser}${text}`);
    this.drawn = lines;
  }

  private lineOf(event: SweepEvent, gpu: string | null): string | null {
    switch (event.kind) {
      case 'variantStarted':
        this.current.set(gpu, `converting ${printable(event.variant.label)}`);
        return null;
      case 'variantReady':
        this.over.add(event.variant.variantRef);
        return `variant ${printable(event.variant.label)}: ${event.how}, ${convertedWords(event.variant.by, event.converted)}`;
      case 'variantFailed':
        this.over.add(event.variant.variantRef);
        return `variant ${printable(event.variant.label)}: ${this.io.errLook.style.bad(event.problem)}${event.folder === null ? '' : ` (log: ${printable(event.folder)})`}`;
      case 'buildStarted':
        this.current.set(gpu, `building ${printable(event.build.label)}`);
        return null;
      case 'buildReady':
        this.built.add(event.build.buildRef);
        return event.how === 'built'
          ? `${this.isReplay ? 'recorded build' : 'built'} ${printable(event.build.label)}${event.buildS === null ? '' : `: in ${formatDuration(event.buildS)}`}`
          : `engine ${printable(event.build.label)}: ${event.how}`;
      case 'buildFailed':
        this.over.add(event.build.buildRef);
        this.bad += 1;
        return `build  ${printable(event.build.label)}: ${this.failureText(event)}`;
      case 'gpuTakenOut':
        this.addRuns(event.failed);
        this.current.delete(gpu);
        return `${this.io.errLook.style.bad('taken out')} after ${event.failures} failures in a row; ${count(event.moved.length, 'run goes', 'runs go')} to the other GPUs`;
      case 'measuredAgain':
        this.addRuns(event.runs);
        return `again  ${count(event.runs.length, 'run')} to replace runs that the machine disturbed`;
      case 'moreRuns':
        this.addRuns(event.runs);
        return null;
      case 'runStarted':
        this.current.set(gpu, this.runText(event.run));
        return null;
      case 'runKept':
      case 'runSkipped':
        if (event.kind === 'runKept') this.built.add(event.run.buildRef);
        this.finish(event.run, null);
        return null;
      case 'note':
        return `note: ${printable(event.text)}`;
      case 'runDone': {
        const { record, run } = event;
        this.finish(run, record.wallS ?? 0);
        // With several GPUs, show the busy ones.
        if (gpu !== null) this.current.delete(gpu);
        const isMeasured = record.outcome.kind === 'measured';
        if (!isMeasured) this.bad += 1;
        const width = String(this.total).length;
        const number = `[${String(this.done).padStart(width)}/${this.total}]`;
        return `${number} ${this.runText(run)}: ${isMeasured ? this.resultText(event) : this.failureText(record)}`;
      }
    }
  }

  private failureText({ outcome, runId }: { outcome: Outcome; runId: RunId | null }): string {
    const [firstEvidence] = outcome.evidence;
    const where = runId === null ? '' : ` · bench show ${runId.slice(0, 8)}`;
    const why = firstEvidence === undefined ? '' : ` · ${truncate(printable(firstEvidence.text), LONGEST_EVIDENCE)}`;
    return `${outcomeText(outcome, this.io.errLook.style)}${why}${where}`;
  }

  private addRuns(runs: readonly PlannedRun[]): void {
    this.total += runs.length;
    this.runsLeftS += this.secondsOf({ runs });
  }

  private secondsOf(steps: Partial<Plan>): number {
    return totalEstimateS({ builds: [], runs: [], variants: [], ...steps }, this.isReplay, this.known);
  }

  private finish(run: PlannedRun, wallS: number | null): void {
    const runS = this.secondsOf({ runs: [run] });
    this.done += 1;
    this.runsLeftS = Math.max(0, this.runsLeftS - runS);
    if (wallS !== null) {
      this.spentS += wallS;
      this.estimatedS += runS;
    }
  }

  private builtEngines(): number {
    return engineBuilds(this.plan.builds).filter(({ buildRef }) => this.built.has(buildRef)).length;
  }

  private summary(): string {
    const builds = engineBuilds(this.plan.builds).length;
    const counts = runsAndEngines({ runs: this.total, measured: this.done, builds, built: this.builtEngines() });
    const bad = this.bad === 0 ? '' : ` · ${this.bad} failed`;
    return `${counts}${bad} · ${formatDuration((this.io.now().getTime() - this.startMs) / 1000)}`;
  }

  private live(): string[] {
    const { style, columns } = this.io.errLook;
    const { builds, variants } = this.plan;
    const left = {
      builds: engineBuilds(builds).filter(({ buildRef }) => !this.over.has(buildRef) && !this.built.has(buildRef)),
      variants: variants.filter(({ variantRef }) => !this.over.has(variantRef)),
    };
    const done = this.done + this.builtEngines();
    const steps = this.total - this.done + done + left.builds.length;
    const share = steps === 0 ? 1 : done / steps;
    // Estimates of runs are scaled by their actual durations.
    const scale = this.estimatedS > 0 ? this.spentS / this.estimatedS : 1;
    const leftS = this.secondsOf(left) + this.runsLeftS * scale;
    const facts = `${this.summary()} · about ${formatDuration(leftS)} left`;
    const width = Math.min(BAR_WIDTH, Math.max(0, columns - 2 - textWidth(facts)));
    const full = Math.round(share * width);
    const bar = `${'█'.repeat(full)}${'░'.repeat(width - full)}`;
    const now = [...(this.current.size === 0 && this.done === 0 ? [[null, 'starting'] as const] : this.current)];
    const running = now.map(([gpu, text]) => (gpu === null ? `▸ ${text}` : `▸ ${gpu} · ${text}`));
    const fit = (line: string): string => truncate(line, columns - 1);
    return [...running.map((line) => style.strong(fit(line))), style.dim(fit(`${bar} ${facts}`))];
  }

  private runText({ cellKey, role, repeat }: PlannedRun): string {
    const label = this.labels.get(cellKey) ?? cellKey;
    if (role === 'profile') return `${label} (profile)`;
    if (role === 'pair') return `${label} (${pairRunName(repeat)})`;
    return this.plan.repeats > 1 || repeat > 1 ? `${label} #${repeat}` : label;
  }

  /** Another harness measures the metric of its cell. */
  private resultText({ record: { harness, log }, run }: Extract<SweepEvent, { kind: 'runDone' }>): string {
    const cell = this.plan.cells.find((planned) => planned.cell.key === run.cellKey)?.cell;
    const metric = gateMetric(null, cell ?? { streams: 1 });
    const named = harness?.values.find((each) => each.metric === metric)?.value;
    const value = metric === 'latencyMs' ? harness?.latencyMs?.median : named;
    if (value === undefined) {
      const { gpuComputeMs, throughputQps } = log.measurement ?? {};
      return `${formatMs(gpuComputeMs?.median ?? null)} GPU, ${formatNumber(throughputQps ?? null)} queries/s`;
    }
    const { label, unit } = metricOf(metric);
    return `${label} ${formatNumber(value)} ${unit}`;
  }
}
