import { EnvironmentLackingError } from '../../errors.ts';
import { ask } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';

/** Newer names come first. */
const GPU_METRICS = ['--gpu-metrics-devices', '--gpu-metrics-device'] as const;
const ACCELERATORS = ['tegra-accelerators', 'nvmedia'] as const;

export interface NsysDialect {
  /** `2024.6.2`; null if assumed. */
  readonly version: string | null;
  /** `--gpu-metrics-devices` in newer versions, which removed the older name. */
  readonly gpuMetrics: (typeof GPU_METRICS)[number] | null;
  /** Option for tracing DLA: `nvmedia` until about 2022, `tegra-accelerators` later; null if unsupported. */
  readonly accelerators: (typeof ACCELERATORS)[number] | null;
}

/** The dialect of TensorRT's guide, used if Nsight Systems is not queried. */
export const GUIDE_NSYS: NsysDialect = { version: null, gpuMetrics: '--gpu-metrics-device', accelerators: 'nvmedia' };

/**
 * Reads the dialect from the help of `nsys profile`, because renamings are undocumented and embedded builds have their
 * own options.
 */
export function nsysDialect(version: string, help: string): NsysDialect {
  const has = (option: string): boolean => new RegExp(`${option}(?![\\w-])`).test(help);
  const accelerators = sectionOf(help, '--accelerator-trace');
  return {
    version: /\d{4}\.\d+(?:\.\d+)?/.exec(version)?.[0] ?? null,
    gpuMetrics: GPU_METRICS.find(has) ?? null,
    accelerators: ACCELERATORS.find((name) => accelerators.includes(name)) ?? null,
  };
}

function sectionOf(help: string, option: string): string {
  const start = help.indexOf(option);
  if (start === -1) return '';
  const rest = help.slice(start + option.length);
  const next = /^\s*-{1,2}\w[\w-]*(?:,|=|\s|$)/m.exec(rest);
  return next === null ? rest : rest.slice(0, next.index);
}

const TIMEOUT_MS = 30_000;

/** The installed Nsight Systems; null if there is none. It profiles nothing. */
export async function askNsys(env: EnvironmentVariables): Promise<NsysDialect | null> {
  const version = await ask('nsys', ['--version'], { env, timeoutMs: TIMEOUT_MS });
  if (version.kind === 'missing') return null;
  const help = await ask('nsys', ['profile', '--help'], { env, timeoutMs: TIMEOUT_MS });
  if (version.kind === 'answered' && help.kind === 'answered') {
    return nsysDialect(version.text, help.text);
  }
  const refused = [version, help].find(({ kind }) => kind !== 'answered');
  const why = refused?.kind === 'refused' ? refused.problem : 'it gives no answer';
  throw new EnvironmentLackingError(`nsys does not work: ${why}`);
}
