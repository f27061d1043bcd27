import { textOf } from './host-facts.ts';

/** The loader is done within milliseconds; `--useRuntime` loads later, and a cold network disk later still. */
const LOOK_AFTER_MS = [250, 1_000, 4_000] as const;

const MAPPED_LIBRARY = /\/libnvinfer(?:_lean|_dispatch)?\.so\.(\d+(?:\.\d+)*)(?: \(deleted\))?$/m;

/** Version in the name of the TensorRT library that a process has mapped: links are resolved there already. */
export function libraryVersion(maps: string): string | null {
  return MAPPED_LIBRARY.exec(maps)?.[1] ?? null;
}

/**
 * Finds out which TensorRT library a trtexec really loads, by a look into /proc while it runs. Once known it is not
 * looked for again: all processes of a sweep are the same program. Null for ever where there is no /proc.
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

  /** To be called when it has ended: its number may be another's soon. */
  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }

  private look(pid: number): void {
    for (const each of this.found === null ? processTree(pid) : []) {
      this.found ??= libraryVersion(textOf(`/proc/${each}/maps`) ?? '');
    }
  }
}

/** trtexec may have been started by a script. */
function processTree(pid: number, depth = 3): number[] {
  if (depth === 0) return [];
  const children = textOf(`/proc/${pid}/task/${pid}/children`)?.split(/\s+/) ?? [];
  return [pid, ...children.flatMap((child) => processTree(Number(child), depth - 1))];
}
