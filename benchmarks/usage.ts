import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { BENCH, type Finished, type ProcessOptions, runProcess } from './processes.ts';

export interface Usage extends Finished {
  /** Most memory that the process ever held. */
  readonly peakMb: number;
  /** User and system time of all its threads: what else the machine does changes it less than the time on the wall. */
  readonly cpuMs: number;
}

/** Runs `bench` and tells what it took. */
export async function benchWithUsage(
  args: readonly string[],
  folder: string,
  options: ProcessOptions = {},
  codes: readonly number[] = [0],
): Promise<Usage> {
  const file = join(folder, 'usage');
  const hook = `data:text/javascript,${encodeURIComponent(usageHook(file))}`;
  const finished = await runProcess(process.execPath, ['--import', hook, BENCH, ...args], options, codes);
  const [peakKib = Number.NaN, cpuMs = Number.NaN] = readFileSync(file, 'utf8').split(' ').map(Number);
  return { ...finished, peakMb: (peakKib * 1024) / 1e6, cpuMs };
}

/**
 * What a process runs first to leave its peak resident memory in KiB and its CPU time when it ends. Linux tells the
 * peak of this very program; what `resourceUsage` tells there includes the parent at the moment of the fork.
 */
function usageHook(path: string): string {
  return `
    import { readFileSync, writeFileSync } from 'node:fs';
    process.on('exit', () => {
      let peak = process.resourceUsage().maxRSS;
      try {
        peak = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
      } catch {}
      const { user, system } = process.cpuUsage();
      writeFileSync(${JSON.stringify(path)}, peak + ' ' + (user + system) / 1000);
    });`;
}
