import { EnvironmentLackingError } from '../../errors.ts';
import { ask } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';

/** How one Nsight Systems wants to be asked for what its versions spell in other ways. */
export interface NsysDialect {
  /** `2024.6.2`; null when it is assumed. */
  readonly version: string | null;
  /** `--gpu-metrics-devices` in newer ones, where the older name was given up. */
  readonly gpuMetrics: '--gpu-metrics-device' | '--gpu-metrics-devices' | null;
  /** What traces DLA: `nvmedia` until 2022 or so, `tegra-accelerators` later; null where it cannot. */
  readonly accelerators: 'nvmedia' | 'tegra-accelerators' | null;
}

/** As TensorRT's guide spells it: taken where no Nsight Systems is asked. */
export const GUIDE_NSYS: NsysDialect = { version: null, gpuMetrics: '--gpu-metrics-device', accelerators: 'nvmedia' };

/**
 * By the help of `nsys profile` itself: when an option got another name is written down nowhere, and builds for
 * embedded platforms have options that others lack.
 */
export function nsysDialect(version: string, help: string): NsysDialect {
  const has = (option: string): boolean => new RegExp(`${option}(?![\\w-])`).test(help);
  const accelerators = sectionOf(help, '--accelerator-trace');
  return {
    version: /\d{4}\.\d+(?:\.\d+)?/.exec(version)?.[0] ?? null,
    gpuMetrics: has('--gpu-metrics-devices')
      ? '--gpu-metrics-devices'
      : has('--gpu-metrics-device')
        ? '--gpu-metrics-device'
        : null,
    accelerators: accelerators.includes('tegra-accelerators')
      ? 'tegra-accelerators'
      : accelerators.includes('nvmedia')
        ? 'nvmedia'
        : null,
  };
}

/** What the help says of an option: up to the next one. */
function sectionOf(help: string, option: string): string {
  const start = help.indexOf(option);
  if (start === -1) return '';
  const rest = help.slice(start + option.length);
  const next = /^\s*-{1,2}\w[\w-]*(?:,|=|\s|$)/m.exec(rest);
  return next === null ? rest : rest.slice(0, next.index);
}

const TIMEOUT_MS = 30_000;

/** What Nsight Systems is here; null when there is none. Nothing is profiled. */
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
