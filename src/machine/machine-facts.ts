import type { Answer, NoAnswer } from '../process/ask.ts';
import type { ClockReason } from '../records/telemetry.ts';
import type { TensorrtVersion } from '../text/version.ts';

export type TrtexecFacts =
  | { readonly kind: 'missing'; readonly problem: string }
  | {
      readonly kind: 'found';
      readonly path: string;
      readonly help:
        | { readonly kind: 'version'; readonly version: TensorrtVersion }
        | { readonly kind: 'failed'; readonly problem: string };
      readonly library: LibraryFacts;
    };

/** The TensorRT library that trtexec will load, as far as that can be said without running it. */
export type LibraryFacts =
  | {
      readonly kind: 'found';
      readonly path: string;
      /** From the name of the file: `10.6.0`. */
      readonly version: string | null;
    }
  | {
      readonly kind: 'missing';
      /** `libnvinfer.so.10`. */
      readonly name: string;
      /** A folder beside trtexec has it, but the loader does not look there. */
      readonly beside: string | null;
    }
  | { readonly kind: 'unknown'; readonly why: string };

export interface GpuFacts {
  readonly index: number;
  readonly name: string | null;
  readonly uuid: string | null;
  readonly ecc: 'on' | 'off' | null;
  readonly mig: 'on' | 'off' | null;
  readonly persistence: 'on' | 'off' | null;
  readonly computeMode: string | null;
  readonly driverModel: string | null;
  readonly clocks: { readonly smMhz: number | null; readonly maxSmMhz: number | null };
  readonly power: { readonly limitW: number | null; readonly defaultLimitW: number | null };
  readonly temperatureC: number | null;
  readonly slowdownTemperatureC: number | null;
  readonly pcie: {
    readonly generation: number | null;
    readonly width: number | null;
    readonly maxGeneration: number | null;
    readonly maxWidth: number | null;
  };
  readonly gpuUtilisationPercent: number | null;
  readonly memoryUsedMib: number | null;
  readonly clockReasons: readonly ClockReason[] | null;
  readonly processes: readonly { readonly pid: number; readonly name: string; readonly memoryMib: number | null }[];
  /** NUMA node that it hangs on. */
  readonly numaNode: number | null;
  /** The bench that holds its clocks now: `locked 1590 MHz by process 12`. */
  readonly clockLock: string | null;
}

export type GpusFacts =
  | {
      readonly kind: 'report';
      readonly driver: string | null;
      /** The newest CUDA that the driver can do. */
      readonly cuda: string | null;
      readonly gpus: readonly GpuFacts[];
      /** GPUs that `CUDA_VISIBLE_DEVICES` hides. */
      readonly hidden: number;
    }
  | { readonly kind: 'none'; readonly answer: NoAnswer };

export interface FolderFacts {
  /** What is kept there. */
  readonly holds: string;
  readonly path: string;
  readonly isThere: boolean;
  readonly isWritable: boolean;
  /** Null when it could not be asked. */
  readonly freeBytes: number | null;
  /** Name of the file system when it is one of the network. */
  readonly networkFileSystem: string | null;
}

export type StoreHealth =
  | { readonly kind: 'none'; readonly path: string }
  | { readonly kind: 'refused'; readonly path: string; readonly problem: string }
  | {
      readonly kind: 'opened';
      readonly path: string;
      readonly bytes: number;
      readonly walBytes: number;
      readonly sweeps: number | null;
      /** `ok`, or the first thing that SQLite finds wrong. */
      readonly quickCheck: string;
      readonly schema: 'current' | 'older' | 'newer';
    };

export interface HostState {
  readonly node: string;
  readonly platform: string;
  readonly cpuCount: number;
  /** Load average of one minute for each CPU; null on Windows, which has none. */
  readonly loadPerCpu: number | null;
  readonly cpuGovernor: string | null;
  readonly numaNodes: number | null;
  /** A Jetson: its nvidia-smi says little, or is not there. */
  readonly isJetson: boolean;
}

export interface PythonFacts {
  readonly interpreter: string;
  /** `$BENCH_PYTHON` named it. */
  readonly isNamed: boolean;
  readonly answer: Answer;
}

export interface MachineFacts {
  /** Recordings answer for the matrix that was named: neither trtexec nor a GPU is needed. */
  readonly isReplay: boolean;
  readonly trtexec: TrtexecFacts;
  /** Major version of CUDA that TensorRT was built for; null when nothing says it. */
  readonly builtForCuda: number | null;
  readonly gpus: GpusFacts;
  readonly folders: readonly FolderFacts[];
  readonly store: StoreHealth;
  readonly host: HostState;
  readonly python: PythonFacts;
  readonly nsys: Answer;
  readonly slurm: Answer;
  readonly numactl: Answer;
  readonly git: Answer;
  readonly repository: { readonly commit: string | null; readonly dirty: boolean | null };
}
