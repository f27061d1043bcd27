import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { setTimeout as sleep } from 'node:timers/promises';

import { describe } from 'vitest';

import { ROOT } from './bench.ts';
import { onPath } from './on-path.ts';

const SCRIPTS = join(ROOT, 'test', 'slurm', 'cluster');
const ask = promisify(execFile);

const isRoot = process.getuid?.() === 0;
/** A cluster can be started here. */
export const HAS_SLURM =
  isRoot && ['slurmctld', 'slurmd', 'munged', 'sbatch', 'slurmdbd', 'mariadbd'].every((name) => onPath(name) !== null);

/** Tests that submit to a real Slurm. */
export const describeWithSlurm = HAS_SLURM ? describe : describe.skip;

/** A Slurm of its own in a temporary folder. */
export class SlurmCluster {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;

  private constructor(folder: string) {
    this.folder = folder;
    this.env = { SLURM_CONF: join(folder, 'etc', 'slurm.conf') };
  }

  /**
   * To be called in `beforeAll`, and `stop` in `afterAll`.
   * @param settings SLURM_SIM_… without the beginning
   * @param port clusters that start at the same moment must not try the same ports
   */
  static async start(port: number, settings: Readonly<Record<string, string>> = {}): Promise<SlurmCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'bench-slurm-'));
    const cluster = new SlurmCluster(folder);
    const stated = Object.entries({ PORT: String(port), ...settings });
    const env = Object.fromEntries(stated.map(([name, value]) => [`SLURM_SIM_${name}`, value]));
    await ask(join(SCRIPTS, 'start.sh'), [folder], { env: { ...process.env, ...env } });
    return cluster;
  }

  stop(): void {
    if (!existsSync(this.folder)) return;
    execFileSync(join(SCRIPTS, 'stop.sh'), ['--purge', this.folder], { stdio: 'ignore' });
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** `crash gpu2`: power cut of a node; `daemon gpu2`: loss of its daemon alone; `start gpu2`: it is back; `ctld-stop -`, `ctld-start -`. */
  async happen(action: 'crash' | 'ctld-start' | 'ctld-stop' | 'daemon' | 'start', node = '-'): Promise<void> {
    await ask(join(SCRIPTS, 'node.sh'), [action, node, this.folder]);
  }

  async run(file: string, args: readonly string[]): Promise<string> {
    return (await ask(file, [...args], { env: { ...process.env, ...this.env } })).stdout;
  }

  /** `8_3` → `RUNNING`, for every task that the controller knows. */
  async states(): Promise<Map<string, string>> {
    return new Map(
      (await this.run('squeue', ['-h', '-r', '-t', 'all', '-o', '%i|%T']))
        .trim()
        .split('\n')
        .map((line): [string, string] => {
          const [task = '', state = ''] = line.split('|');
          return [task, state];
        }),
    );
  }

  async untilState(task: string, state: string): Promise<void> {
    await until(async () => (await this.states()).get(task) === state);
  }

  /** Slurm waits two minutes before it starts a requeued job again. */
  async startNow(task: string): Promise<void> {
    // Started in the very second in which it had been ended, a task was seen to end at once with exit code 1 and no
    // word of its own: Slurm by itself waits longer.
    await sleep(2000);
    await this.run('scontrol', ['update', `jobid=${task}`, 'StartTime=now']);
  }
}

/** Waits for something that will be so; the test's own time limit ends it. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(100);
}
