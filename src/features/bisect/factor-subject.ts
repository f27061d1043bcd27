import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { hashOf } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import type { FactorSetting } from '../../matrix/points/factors.ts';
import type { GitState } from '../../records/sweep.ts';
import type { Io } from '../../cli/io.ts';
import { runCommand } from './external-command.ts';
import type { BisectRequest, FactorRequest } from './state.ts';
import type { OpenedSubject, Subject } from './subject.ts';

/** The key of a setting: the factors that are at their bad value. */
export function keyOfFactors(bad: readonly string[]): string {
  return JSON.stringify(bad.toSorted());
}

/** The machine with some factors at their bad value and all others at their good one. */
export class FactorSubject implements Subject {
  readonly key: string;
  readonly label: string;
  readonly git: GitState;
  private readonly request: BisectRequest;
  private readonly settings: readonly FactorSetting[];
  private readonly folder: string;
  private readonly io: Io;

  constructor(
    bad: readonly string[],
    request: BisectRequest,
    { factors }: FactorRequest,
    git: GitState,
    folder: string,
    io: Io,
  ) {
    this.key = keyOfFactors(bad);
    this.label = bad.length === 0 ? 'all good' : bad.length === factors.length ? 'all bad' : `bad: ${bad.join(', ')}`;
    this.git = git;
    this.request = request;
    this.settings = factors.map((factor) => (bad.includes(factor.name) ? factor.bad : factor.good));
    this.folder = folder;
    this.io = io;
  }

  async open(): Promise<OpenedSubject> {
    // No two factors switch the same thing, but for variables and commands, which are gathered below.
    const setting: FactorSetting = Object.assign({}, ...this.settings);
    const variables = this.settings.flatMap(({ env = {} }) => Object.entries(env));
    const env = { ...this.io.env };
    for (const [name, value] of variables) env[name] = value ?? undefined;
    const io: Io = { ...this.io, env };
    const { matrix = this.request.matrix, trtexec = this.request.trtexec, replay } = setting;
    if (matrix === null) throw new UsageError('which matrix? --matrix FILE, or a factor with one');
    const commands = this.settings.flatMap(({ before = [] }) => (before.length > 0 ? [before] : []));
    return {
      io,
      matrix,
      trtexec,
      replay: replay ?? this.request.replay,
      model: setting.model ?? null,
      timingCache: await this.timingCache(setting.timingCache),
      hasOwnEngines: () => true,
      beforeRun: async () => {
        for (const [index, command] of commands.entries()) {
          const log = join(this.folder, 'logs', `before-${index + 1}`);
          await runCommand({ command, cwd: io.cwd, log }, io);
        }
      },
    };
  }

  close(): Promise<void> {
    return rm(this.cachePath(), { force: true });
  }

  /** A copy, as the build writes into it. */
  private async timingCache(source: string | null | undefined): Promise<string | null> {
    if (source === undefined) return null;
    const path = this.cachePath();
    await mkdir(join(this.folder, 'timing'), { recursive: true });
    await rm(path, { force: true });
    if (source !== null) await copyFile(source, path);
    return path;
  }

  private cachePath(): string {
    return join(this.folder, 'timing', `${hashOf(this.key)}.cache`);
  }
}
