import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { execa } from 'execa';
import { z } from 'zod';

import type { comparison } from '../../src/features/compare/output.ts';
import { OUTPUTS } from '../../test/support/outputs.ts';

/** What came out of one question to the machine; `isOk` is null where there was no time or nothing to ask. */
interface Check {
  readonly part: string;
  readonly name: string;
  readonly isOk: boolean | null;
  readonly figure: string;
}

/** How long a part took, in seconds. */
interface PartTime {
  readonly part: string;
  readonly plannedS: number;
  readonly tookS: number;
}

/** How one call of bench ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

/** What is known of a process that ended. */
interface Finished {
  readonly exitCode?: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface VisitPlace {
  readonly name: string;
  /** Gets the store, matrices, logs and the report. */
  readonly folder: string;
  /** The program and first arguments that start bench. */
  readonly command: readonly [string, ...string[]];
  readonly trtexec: string;
  /** Of another version, for the visit that compares two. */
  readonly otherTrtexec: string | null;
  /** ONNX files by name of the model: `resnet`, `vit`, and variants such as `vit_fp8`. */
  readonly models: ReadonlyMap<string, string>;
  /** Parts whose names hold this text; null: all. */
  readonly only: string | null;
  /** The whole visit takes no longer, in seconds. */
  readonly limitS: number;
  /** Seconds since 1970, which never go back. */
  readonly clock: () => number;
  readonly print: (line: string) => void;
}

/** One stay at a machine with a GPU: calls of bench, and checks of what came out, each a line of the report. */
export class Visit {
  readonly checks: Check[] = [];
  readonly facts = new Map<string, string>();
  readonly place: VisitPlace;
  private readonly startS: number;
  private readonly times: PartTime[] = [];
  private currentPart = '';

  constructor(place: VisitPlace) {
    this.place = place;
    this.startS = place.clock();
    mkdirSync(place.folder, { recursive: true });
  }

  get store(): string {
    return join(this.place.folder, 'bench.sqlite');
  }

  /** Engines that bench built here. */
  engines(): string[] {
    const folder = join(this.place.folder, 'engines');
    return existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => name.endsWith('.plan'))
          .map((name) => join(folder, name))
      : [];
  }

  get leftS(): number {
    return this.place.limitS - (this.place.clock() - this.startS);
  }

  /**
   * Does one part if its time (in seconds, as planned; 0: in any case) is left; an error of the part is a check that
   * failed. The report is written after each.
   */
  async part(name: string, plannedS: number, body: () => Promise<void> | void): Promise<void> {
    if (this.place.only !== null && !name.includes(this.place.only)) return;
    this.currentPart = name;
    const from = this.place.clock();
    if (plannedS > 0 && this.leftS < plannedS) {
      this.check('was reached', null, `not run: ${this.leftS.toFixed(0)} s left of ${plannedS} s that it takes`);
    } else {
      try {
        await body();
      } catch (error) {
        const message = error instanceof Error ? error.message.split('\n')[0] : String(error);
        this.check('ran to its end', false, message ?? '');
      }
    }
    const tookS = this.place.clock() - from;
    this.times.push({ part: name, plannedS, tookS });
    this.place.print(`   ${name}: ${tookS.toFixed(1)} s, planned ${plannedS} s`);
    this.file('report.md', this.report());
  }

  check(name: string, isOk: boolean | null, figure: string): void {
    this.checks.push({ part: this.currentPart, name, isOk, figure });
    this.place.print(`${mark(isOk)}  ${this.currentPart}: ${name}: ${figure}`);
  }

  /** Starts bench on the store of this visit; what it prints is kept in `calls.log`. */
  start(args: readonly string[], cwd: string = this.place.folder) {
    const [program, ...first] = this.place.command;
    return execa({
      cwd,
      reject: false,
      env: { BENCH_DB: this.store, TRTEXEC: this.place.trtexec, COLUMNS: '160', NO_COLOR: '1' },
    })(program, [...first, ...args]);
  }

  async bench(args: readonly string[], cwd?: string): Promise<Ended> {
    const from = this.place.clock();
    return this.ended(args, from, await this.start(args, cwd));
  }

  /** The result of a call that was started and perhaps ended by a signal. */
  ended(args: readonly string[], from: number, result: Finished): Ended {
    const seconds = this.place.clock() - from;
    const code = result.exitCode ?? -1;
    const text = `$ bench ${args.join(' ')}\n${result.stdout}\n${result.stderr}\n[${code}, ${seconds.toFixed(1)} s]\n\n`;
    appendFileSync(join(this.place.folder, 'calls.log'), text);
    return { code, stdout: result.stdout, stderr: result.stderr, seconds };
  }

  /** @throws {Error} when what it prints is not of that form */
  async json<T>(schema: z.ZodType<T>, args: readonly string[], cwd?: string): Promise<T> {
    const { stdout, stderr, code } = await this.bench([...args, '--json'], cwd);
    if (stdout === '')
      throw new Error(`bench ${args.join(' ')} ended with ${code}: ${stderr.trim().split('\n').at(-1)}`);
    return schema.parse(JSON.parse(stdout));
  }

  /** Rows of the store. */
  rows<T>(schema: z.ZodType<T>, sql: string, ...values: readonly (string | number)[]): T[] {
    const db = new Database(this.store, { readonly: true });
    try {
      return db
        .prepare(sql)
        .all(...values)
        .map((row) => schema.parse(row));
    } finally {
      db.close();
    }
  }

  count(sql: string, ...values: readonly (string | number)[]): number {
    return this.rows(z.object({ n: z.number() }), sql, ...values)[0]?.n ?? 0;
  }

  /** Writes a file of this visit (JSON is YAML) and gives its path. */
  file(name: string, content: unknown): string {
    const path = join(this.place.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : `${JSON.stringify(content, null, 1)}\n`);
    return path;
  }

  model(name: string): string {
    const path = this.place.models.get(name);
    if (path === undefined) throw new Error(`no model ${name}.onnx among those of --models`);
    return path;
  }

  /** Checks that a sweep was measured as a whole. */
  async run(args: readonly string[]): Promise<void> {
    const { counts } = await this.json(OUTPUTS.run, ['run', ...args]);
    const lost = counts.failed + counts.unfit + counts.skipped;
    this.check('every run is measured', lost === 0, JSON.stringify(counts));
  }

  /** Timed runs of the newest sweep, and those of them that are called contended. */
  contended(): { readonly runs: number; readonly contended: number } {
    const runs = `SELECT count(*) n FROM runs WHERE role <> 'build' AND ${NEWEST_SWEEP}`;
    const flagged = `reason = 'contended' OR run_id IN (SELECT run_id FROM run_flags WHERE flag = 'contended')`;
    return { runs: this.count(runs), contended: this.count(`${runs} AND (${flagged})`) };
  }

  /** The report as Markdown: each check, then what each part took. */
  report(): string {
    const counted = (isOk: boolean | null): number => this.checks.filter((check) => check.isOk === isOk).length;
    const visitS = this.place.clock() - this.startS;
    return [
      `# Visit: ${this.place.name}`,
      '',
      ...[...this.facts].map(([name, value]) => `- ${name}: ${value}`),
      `- ${counted(true)} ok, ${counted(false)} not ok, ${counted(null)} not run; ${visitS.toFixed(0)} s`,
      '',
      '|  | part | check | figure |',
      '| --- | --- | --- | --- |',
      ...this.checks.map(({ part, name, isOk, figure }) => tableRow([mark(isOk), part, name, figure])),
      '',
      '| part | planned | took |',
      '| --- | ---: | ---: |',
      ...this.times.map(({ part, plannedS, tookS }) => tableRow([part, `${plannedS} s`, `${tookS.toFixed(1)} s`])),
      '',
    ].join('\n');
  }
}

export const NEWEST_SWEEP = 'sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT 1)';

/** What became of each cell. */
export function changesText(cells: z.infer<typeof comparison>['cells']): string {
  const texts = cells.map(({ label, verdict, changePercent }) => `${label}: ${verdict} ${changePercent?.toFixed(2)} %`);
  return texts.join('; ');
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function mark(isOk: boolean | null): string {
  if (isOk === null) return 'not run';
  return isOk ? 'ok' : 'not ok';
}
