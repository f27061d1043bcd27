import { programOf } from '../started-program.ts';
import type { AiperfSettings } from './settings.ts';

/** In the folder of the run: the name that AIPerf gives it. */
export const REPORT_NAME = 'profile_export_aiperf.json';

/** `aiperf profile` with the options of 0.13.0. */
export function aiperfArgs(
  settings: AiperfSettings,
  resolve: (path: string) => string,
): readonly [string, ...string[]] {
  const { config, inputTokens, outputTokens, tokenizer } = settings;
  const [program, ...before] = programOf([settings.program ?? 'aiperf'], resolve);
  return [
    program,
    ...before,
    'profile',
    ...option('--config', config === undefined ? undefined : resolve(config)),
    ...option('--model', settings.model),
    ...option('--url', settings.url),
    ...option('--endpoint-type', settings.endpointType ?? 'chat'),
    ...(isStreaming(settings) ? ['--streaming'] : []),
    ...option('--concurrency', concurrencyOf(settings)),
    ...option('--request-rate', settings.requestRate),
    ...option('--request-count', settings.requestCount),
    ...option('--warmup-request-count', settings.warmup),
    ...option('--synthetic-input-tokens-mean', inputTokens?.mean),
    ...option('--synthetic-input-tokens-stddev', inputTokens?.stddev),
    ...option('--output-tokens-mean', outputTokens?.mean),
    ...option('--output-tokens-stddev', outputTokens?.stddev),
    ...option('--random-seed', settings.seed ?? 0),
    ...option('--tokenizer', isFolder(tokenizer) ? resolve(tokenizer) : tokenizer),
    ...Object.entries(settings.extraInputs ?? {}).flatMap(([name, value]) => [
      '--extra-inputs',
      `${name}:${String(value)}`,
    ]),
    ...(settings.extraArgs ?? []),
    ...option('--artifact-dir', '{runFolder}'),
    ...option('--ui', 'none'),
  ];
}

export function isStreaming({ streaming }: AiperfSettings): boolean {
  return streaming === true || streaming === 'on';
}

/** Undefined for no limit: requests then come at their rate. */
export function concurrencyOf(settings: AiperfSettings): string | number | undefined {
  return settings.concurrency ?? (settings.requestRate === undefined ? 1 : undefined);
}

export function isFolder(tokenizer: string | undefined): tokenizer is string {
  return tokenizer !== undefined && /^[./]/.test(tokenizer);
}

function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}
