import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../src/domain/unknown-values.ts';
import { BENCH, runProcess } from './processes.ts';
import type { Benchmark, Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { writeVerboseLog } from './verbose-log.ts';

const LOG_BYTES = 1e9;

/** The most memory that `bench parse` ever held for a log of a gigabyte: it must not grow with the log. */
export const memory: Benchmark = {
  name: 'memory',
  run: () => inTemporaryFolder(measure),
};

async function measure(folder: string): Promise<Row[]> {
  const log = join(folder, 'trtexec.log');
  writeVerboseLog(log, LOG_BYTES);
  const hook = `data:text/javascript,${encodeURIComponent(peakMemoryHook(join(folder, 'peak')))}`;
  const { stdout } = await runProcess(process.execPath, [
    '--import',
    hook,
    BENCH,
    'parse',
    '--json',
    log,
  ]);
  const parsed: unknown = JSON.parse(stdout);
  const runs: unknown = isRecord(parsed) ? parsed['runs'] : null;
  if (!Array.isArray(runs) || runs.length !== 1) throw new Error('the log was not understood');
  const peakMb = (Number(readFileSync(join(folder, 'peak'), 'utf8')) * 1024) / 1e6;
  return [
    {
      kind: 'measured',
      what: 'bench parse, most memory held',
      against: `verbose log of ${Math.round(statSync(log).size / 1e6)} MB`,
      ratio: peakMb,
      unit: ' MB',
      target: { atMost: 200 },
      ours: `${Math.round(peakMb)} MB`,
      theirs: '',
    },
  ];
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
