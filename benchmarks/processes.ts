import { spawn } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The clone that these benchmarks are part of. */
export const ROOT = join(import.meta.dirname, '..');
export const BENCH = join(ROOT, 'bin', 'bench.js');

interface Finished {
  readonly wallMs: number;
  readonly stdout: string;
}

interface ProcessOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs a process to its end.
 * @param codes exit codes that are no fault
 * @throws when it ends with another one: a figure of a failed run would be worth nothing
 */
export async function runProcess(
  file: string,
  args: readonly string[],
  options: ProcessOptions = {},
  codes: readonly number[] = [0],
): Promise<Finished> {
  const start = performance.now();
  const child = spawn(file, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, BENCH_DB: undefined, NO_COLOR: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject);
  child.on('close', resolve);
  const code = await promise;
  const wallMs = performance.now() - start;
  if (code === null || !codes.includes(code)) {
    throw new Error(`${file} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  }
  return { wallMs, stdout };
}

/** Runs `bench` under this very Node. */
export function bench(
  args: readonly string[],
  options: ProcessOptions = {},
  codes: readonly number[] = [0],
): Promise<Finished> {
  return runProcess(process.execPath, [BENCH, ...args], options, codes);
}

/**
 * Runs `bench` and tells the most memory that the process ever held. Linux tells the peak of this very program; what
 * `resourceUsage` tells there includes the parent at the moment of the fork.
 */
export async function benchWithPeak(
  args: readonly string[],
  folder: string,
): Promise<Finished & { readonly peakMb: number }> {
  const file = join(folder, 'peak');
  const hook = `
    import { readFileSync, writeFileSync } from 'node:fs';
    process.on('exit', () => {
      let peakKib = process.resourceUsage().maxRSS;
      try {
        peakKib = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
      } catch {}
      writeFileSync(${JSON.stringify(file)}, String(peakKib));
    });`;
  const importing = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const finished = await runProcess(process.execPath, [...importing, BENCH, ...args]);
  return { ...finished, peakMb: (Number(readFileSync(file, 'utf8')) * 1024) / 1e6 };
}

/** Every program of this name on PATH, in its order. */
export function programsOnPath(name: string): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...new Set(folders)].map((folder) => join(folder, name)).filter(isProgram);
}

export interface Tool {
  readonly name: string;
  /** Its package. */
  readonly apt: string;
  readonly path: string | null;
}

export function findTool(name: string, apt: string = name): Tool {
  return { name, apt, path: programsOnPath(name)[0] ?? null };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** That file of /proc for each process that lets it be read; Linux only. */
export function processFiles(name: 'cmdline' | 'environ' | 'stat'): { readonly pid: number; readonly text: string }[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return [{ pid: Number(pid), text: readFileSync(join('/proc', pid, name), 'latin1') }];
    } catch {
      return [];
    }
  });
}
