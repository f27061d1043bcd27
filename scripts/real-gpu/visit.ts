import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { execa } from 'execa';
import { z } from 'zod';

import { type Call, type Check, mark, type PartTime, reportText } from './report.ts';

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
  private calls: Call[] = [];
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
    this.calls = [];
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
    this.times.push({ part: name, plannedS, tookS, calls: this.calls });
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
    this.calls.push({ line: args.join(' ').replaceAll(`${this.place.folder}/`, ''), seconds });
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

  /** The report as Markdown. */
  report(): string {
    return reportText(this.place.name, this.facts, this.checks, this.times, this.place.clock() - this.startS);
  }
}
