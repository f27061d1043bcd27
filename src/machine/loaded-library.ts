import { textOf } from './host-facts.ts';

/** The loader takes milliseconds, but `--useRuntime` loads later, and even later from a cold network disk. */
const LOOK_AFTER_MS = [250, 1_000, 4_000] as const;

const MAPPED_LIBRARY = /\/libnvinfer(?:_lean|_dispatch)?\.so\.(\d+(?:\.\d+)*)(?: \(deleted\))?$/m;

/** Version in the file name of the mapped TensorRT library. The kernel has resolved symbolic links. */
export function libraryVersion(maps: string): string | null {
  return MAPPED_LIBRARY.exec(maps)?.[1] ?? null;
}

/**
 * The library that trtexec loaded, read from /proc while it runs; null without /proc. Read only once, because all runs
 * use the same program.
 */
export class LoadedLibrary {
  private found: string | null = null;
  private timers: readonly NodeJS.Timeout[] = [];

  get version(): string | null {
    return this.found;
  }

  watch(pid: number): void {
    if (this.found !== null) return;
    this.timers = LOOK_AFTER_MS.map((ms) => setTimeout(() => this.look(pid), ms).unref());
  }

  /** Call this when the process has ended, because its ID may be reused soon. */
  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }

  private look(pid: number): void {
    for (const each of this.found === null ? processTree(pid) : []) {
      this.found ??= libraryVersion(textOf(`/proc/${each}/maps`) ?? '');
    }
  }
}

/** A script may have started trtexec. */
export function processTree(pid: number, depth = 3): number[] {
  if (depth === 0) return [];
  const children = textOf(`/proc/${pid}/task/${pid}/children`)?.split(/\s+/) ?? [];
  return [pid, ...children.flatMap((child) => processTree(Number(child), depth - 1))];
}
