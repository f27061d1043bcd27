import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { BENCH, type Finished, runProcess } from './processes.ts';

/** Runs `bench` and tells the most memory that it ever held, in MB. */
export async function benchWithPeak(
  args: readonly string[],
  folder: string,
): Promise<Finished & { readonly peakMb: number }> {
  const file = join(folder, 'peak');
  const hook = `data:text/javascript,${encodeURIComponent(peakMemoryHook(file))}`;
  const finished = await runProcess(process.execPath, ['--import', hook, BENCH, ...args]);
  return { ...finished, peakMb: (Number(readFileSync(file, 'utf8')) * 1024) / 1e6 };
}

/**
 * What a process runs first to leave its peak resident memory in KiB when it ends. Linux tells it of this very
 * program; what `resourceUsage` tells there includes the parent at the moment of the fork.
 */
function peakMemoryHook(path: string): string {
  return `
    import { readFileSync, writeFileSync } from 'node:fs';
    process.on('exit', () => {
      let peak = process.resourceUsage().maxRSS;
      try {
        peak = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
      } catch {}
      writeFileSync(${JSON.stringify(path)}, String(peak));
    });`;
}
