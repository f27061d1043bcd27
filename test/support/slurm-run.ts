import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { OUTPUTS } from './outputs.ts';
import { bench, type Finished, startBench, temporaryFolder } from './bench.ts';
import type { SlurmCluster } from './slurm-cluster.ts';
import { model, toBytes, valueInfo } from './onnx-writer.ts';

const TRTEXEC = join(import.meta.dirname, 'slurm-trtexec.mjs');
const QUICK = ['--poll', '1s', '--late-files', '1s'];

const attemptSchema = z.looseObject({
  node: z.string(),
  startedAt: z.string(),
  restart: z.number(),
  outcome: z.string(),
});

export interface SlurmRunSettings {
  readonly shards: number;
  readonly repeats?: number;
  /** More lines of the matrix. */
  readonly lines?: readonly string[];
  /** Under `slurm:`. */
  readonly slurm?: Readonly<Record<string, unknown>>;
  readonly runName?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** One matrix on a cluster: a shard for each batch, and files that tell the stub of trtexec what to do. */
export class SlurmRun {
  readonly folder: string;
  readonly db: string;
  readonly path: string;
  private readonly cluster: SlurmCluster;
  private readonly settings: SlurmRunSettings;

  constructor(cluster: SlurmCluster, settings: SlurmRunSettings) {
    this.cluster = cluster;
    this.settings = settings;
    this.folder = temporaryFolder();
    this.db = join(this.folder, 'bench.sqlite');
    this.path = join(this.folder, settings.runName ?? 'run');
    mkdirSync(join(this.folder, 'gate'));
    writeFileSync(join(this.folder, 'model.onnx'), toBytes(model(17, ...valueInfo(11, 'input', ['batch', 3]))));
    const slurm = {
      gres: 'gpu:1',
      exclusive: false,
      // Without it each has 64 MB, says the cluster.
      mem: '1G',
      shardMinutes: 0.01,
      cacheFolder: join(this.folder, 'cache'),
      env: ['STUB_GATE'],
      ...settings.slurm,
    };
    const { shards, repeats = 1, lines = [] } = settings;
    const text = [
      'models: {small: {shapes: {input: [batch, 3]}, precisions: {fp16: {onnx: model.onnx}}}}',
      `axes: {precision: fp16, batch: 1..${shards}}`,
      `build: {opt: {batch: ${shards}}}`,
      `repeats: ${repeats}`,
      `slurm: ${JSON.stringify(slurm)}`,
      ...lines,
    ];
    writeFileSync(join(this.folder, 'matrix.yaml'), `${text.join('\n')}\n`);
  }

  get env(): Readonly<Record<string, string>> {
    return { ...this.cluster.env, STUB_GATE: join(this.folder, 'gate'), ...this.settings.env };
  }

  /** `closed-3`, `kill-3`, `version-3`. */
  tell(...what: readonly string[]): void {
    for (const name of what) writeFileSync(join(this.folder, 'gate', name), '');
  }

  /** `closed-3` for the runs with this text in their command line. */
  tellTask(name: string, text: string): void {
    writeFileSync(join(this.folder, 'gate', name), text);
  }

  /** A run of the task stands before a closed gate. */
  isWaiting(task: number): boolean {
    return existsSync(join(this.folder, 'gate', `waiting-${task}`));
  }

  untell(...what: readonly string[]): void {
    for (const name of what) rmSync(join(this.folder, 'gate', name), { force: true });
  }

  bench(args: readonly string[]): Promise<Finished> {
    return bench([...args], { cwd: this.folder, env: this.env });
  }

  start(...more: readonly string[]): Promise<Finished> {
    const where = ['--trtexec', TRTEXEC, '--db', this.db, '--run-dir', this.path];
    return this.bench(['run', 'matrix.yaml', '--executor', 'slurm', ...where, ...QUICK, ...more]);
  }

  startCollect(...more: readonly string[]): ChildProcess {
    return startBench(['slurm', 'collect', this.path, ...QUICK, ...more], { cwd: this.folder, env: this.env });
  }

  /** @returns the ids of the arrays */
  async submit(): Promise<string[]> {
    const { code, stderr, stdout } = await this.start('--json');
    if (code !== 0) throw new Error(stderr);
    return OUTPUTS['run-slurm'].parse(JSON.parse(stdout)).jobs.map(({ jobId }) => jobId);
  }

  collect(...more: readonly string[]): Promise<Finished> {
    return this.bench(['slurm', 'collect', this.path, ...QUICK, ...more]);
  }

  async collected(...more: readonly string[]) {
    const { code, stderr, stdout } = await this.collect('--json', ...more);
    if (stdout === '') throw new Error(stderr);
    return { code, stderr, ...OUTPUTS.collect.parse(JSON.parse(stdout)) };
  }

  resume(...more: readonly string[]): Promise<Finished> {
    return this.bench(['slurm', 'resume', this.path, ...QUICK, ...more]);
  }

  /** The shards that are finished. */
  shards(): number[] {
    return readdirSync(join(this.path, 'shards'))
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /** Where the newest attempt at a shard is. */
  nodeOf(shard: number): string {
    return this.attempts(shard).at(-1)?.node ?? '';
  }

  attempts(shard: number): z.infer<typeof attemptSchema>[] {
    const folder = join(this.path, 'attempts', String(shard));
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return [join(this.path, 'shards', String(shard)), ...names.map((name) => join(folder, name))]
      .flatMap((attempt) => {
        try {
          return [attemptSchema.parse(JSON.parse(readFileSync(join(attempt, 'attempt.json'), 'utf8')))];
        } catch {
          // Not there yet, or renamed just now.
          return [];
        }
      })
      .toSorted((a, b) => a.restart - b.restart);
  }
}
