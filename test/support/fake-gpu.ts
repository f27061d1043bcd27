import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { sharedFolder, temporaryFolder } from './bench.ts';
import { H200_REPORT } from './nvidia-smi.ts';

const FAKE_NVIDIA_SMI = join(import.meta.dirname, 'fake-nvidia-smi.sh');

/** The UUID in the report of the fixture. */
export const FAKE_GPU = 'GPU-00000000-0000-0000-0000-000000000000';

/** What the nvidia-smi that stands in does wrong. */
export interface Misbehaviour {
  readonly deny?: boolean;
  readonly unsupported?: boolean;
  readonly ignoresLock?: boolean;
  readonly failsReset?: boolean;
  readonly persistence?: string;
  /** File with what `nvidia-smi -q -x` prints. */
  readonly report?: string;
}

/** A machine with one GPU, of which only nvidia-smi is there. */
export class FakeGpu {
  readonly folder: string;

  /** For several tests of a file it is to be made in `beforeAll`. */
  constructor(lasts: 'one test' | 'all tests' = 'one test') {
    this.folder = lasts === 'one test' ? temporaryFolder() : sharedFolder();
    mkdirSync(join(this.folder, 'bin'));
    symlinkSync(FAKE_NVIDIA_SMI, join(this.folder, 'bin', 'nvidia-smi'));
  }

  env({ report = H200_REPORT, ...misbehaviour }: Misbehaviour = {}): Record<string, string> {
    const smi = { folder: this.folder, report, support: import.meta.dirname, ...misbehaviour };
    return {
      PATH: [join(this.folder, 'bin'), process.env['PATH']].join(delimiter),
      BENCH_LOCK_DIR: this.lockFolder,
      ...Object.fromEntries(Object.entries(smi).map(([name, value]) => [`FAKE_SMI_${name}`, String(value)])),
    };
  }

  get lockFolder(): string {
    return join(this.folder, 'locks');
  }

  /** What it was asked to change, in turn. */
  get changes(): string[] {
    const path = join(this.folder, 'smi.log');
    return (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])
      .filter((line) => /-(?:lgc|rgc|lmc|rmc)\b/.test(line))
      .map((line) => line.replace(`-i ${FAKE_GPU} `, ''));
  }

  /** Upper bounds of the locks that are in force; nobody locks the memory. */
  get locks(): { gpu: string | null; memory: null } {
    const path = join(this.folder, 'smi-clock');
    return { gpu: (existsSync(path) && readFileSync(path, 'utf8')) || null, memory: null };
  }
}
