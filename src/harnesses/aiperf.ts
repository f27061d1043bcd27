import * as z from 'zod';

import type { MetricId } from '../records/metric.ts';
import { isRecord } from '../text/unknown-values.ts';
import { defineHarness, type FoundReport, inJson, type JsonReport, option, statedIdentity } from './define-harness.ts';
import * as llm from './llm.ts';
import * as setting from './settings.ts';

const tokenSettings = z.strictObject({
  mean: setting.orAxis(z.number().int().min(1)),
  stddev: setting.orAxis(z.number().min(0)).optional(),
});

const endpoint = setting.orAxis(z.string().regex(/^[a-z][a-z-]*$/));
const rate = setting.orAxis(z.number().gt(0));

const aiperfSettings = {
  program: setting.text('Name or path of AIPerf, such as /opt/aiperf/bin/aiperf. Default: aiperf').optional(),
  url: setting.text('URL of the server, such as http://localhost:8000, without a password. Not part of the cell'),
  model: setting.text('The model, as the server calls it'),
  endpointType: endpoint.describe('chat, completions, or another that AIPerf knows. Default: chat').optional(),
  streaming: setting.streaming.describe('Stream the tokens: needed for TTFT and ITL').optional(),
  concurrency: setting.count(1, 'Concurrent requests. Default: 1, no limit with a requestRate').optional(),
  requestRate: rate.describe('Requests a second, whether or not the server keeps up').optional(),
  requestCount: setting.count(1, 'Requests of one run'),
  warmup: setting.count(0, 'Warm-up requests. Default: none').optional(),
  inputTokens: tokenSettings.describe('Length of the synthetic prompts. Default of AIPerf: 550').optional(),
  outputTokens: tokenSettings.describe('Requested tokens. Default: the model ends by itself').optional(),
  seed: setting.count(0, 'Seed of the prompts, which are the same in each run. Default: 0').optional(),
  tokenizer: setting
    .text('Tokenizer to count tokens: a name at Hugging Face, or a folder (with / or . in front). Default: the model')
    .optional(),
  extraInputs: z
    .record(z.string().regex(/^\w+$/), z.union([z.string(), z.number(), z.boolean()]))
    .describe('Fields of each request: {ignore_eos: true}')
    .optional(),
  config: setting
    .text(
      "AIPerf's own YAML file. Settings here override it; its content is part of the cell. Name an API key there: api_key: ${OPENAI_API_KEY}",
    )
    .optional(),
  apiKey: z
    .unknown()
    .describe('Refused, because settings are stored. Put the key into a variable that config: names')
    .optional(),
  extraArgs: z.array(z.string()).describe('More arguments of aiperf profile; they are part of the cell').optional(),
  ...setting.limits(60),
};

type AiperfSettings = setting.SettingsOf<typeof aiperfSettings>;

/** At a fixed request rate, throughput is an input, so the cell is judged by latency. */
function judgedBy(isStreamed: boolean, areTokens: boolean, hasRate: boolean): MetricId {
  if (hasRate) return isStreamed ? llm.TTFT : llm.REQUEST_LATENCY;
  return areTokens ? llm.OUTPUT_THROUGHPUT : llm.REQUEST_THROUGHPUT;
}

/** A server with the OpenAI API, such as trtllm-serve, measured by NVIDIA's AIPerf. */
export const aiperfDriver = defineHarness({
  kind: 'aiperf',
  about: "A server that speaks OpenAI's protocol, measured by NVIDIA's AIPerf (options as in 0.13.0)",
  settings: aiperfSettings,
  defaultEstimateS: 60,
  // time.perf_counter_ns around each request, in the client. Source: aiperf/transports/aiohttp_trace.py.
  timer: 'wall',
  // Interpolated, the default of numpy. Source: metric_result_from_array in aiperf/metrics/metric_dicts.py.
  percentileRule: 'linear',
  transfers: true,
  metric: llm.REQUEST_THROUGHPUT,
  mark: /"aiperf_version"/,
  report: 'profile_export_aiperf.json',
  hashed: ({ config, tokenizer }) => [
    ['config', config],
    ['tokenizer', isFolder(tokenizer) ? `${tokenizer}/tokenizer.json` : undefined],
  ],
  refused,
  started: (settings, { hashes, resolve }) => ({
    metric: judgedBy(setting.isStreaming(settings), hasTokens(settings), settings.requestRate !== undefined),
    identity: {
      ...identityOf(([, , value]) => value(filled(settings))),
      tokenizer: hashes['tokenizer'] ?? settings.tokenizer,
      config: hashes['config'],
      ...extraInputs(settings.extraInputs),
    },
    run: runOf(filled(settings), resolve),
  }),
  expected: (settings) => [
    ...(hasTokens(settings) ? ['outputThroughput'] : []),
    ...(setting.isStreaming(settings) ? ['ttftMean', 'itlMean'] : []),
  ],
  found: inJson('is it a report of AIPerf 0.13?', /"aiperf_version"/, (report) => [reportOf(report)]),
});

/** Options with secrets; a header may be `Authorization`. */
const SECRET_ARGS = ['--api-key', '--header', '-H'];
const KEY_PLACE =
  'name a variable instead of the key in a file of AIPerf, config: FILE with api_key: ${OPENAI_API_KEY}';

function refused({ apiKey, extraArgs = [], url }: AiperfSettings): [string, string] | null {
  if (!/^https?:\/\/[^@\s]+$/.test(url)) {
    return ['url', 'write one such as http://localhost:8000, without name and password'];
  }
  if (apiKey !== undefined) return ['apiKey', `bench stores settings: ${KEY_PLACE}`];
  const secret = extraArgs.map((arg) => arg.replace(/=.*$/, '')).find((arg) => SECRET_ARGS.includes(arg));
  return secret === undefined ? null : ['extraArgs', `${secret}: bench stores command lines: ${KEY_PLACE}`];
}

type FilledSettings = ReturnType<typeof filled>;

type OptionRow = readonly [cell: string | null, flag: string, value: (of: FilledSettings) => unknown, place?: string];

/** Options of AIPerf 0.13.0: the name in the cell, the flag, the value, and where the `input_config` of a report has it. */
const OPTIONS: readonly OptionRow[] = [
  ['served', '--model', ({ model }) => model],
  [null, '--url', ({ url }) => url],
  ['endpoint', '--endpoint-type', ({ endpointType }) => endpointType, 'endpoint.type'],
  ['streaming', '--streaming', setting.isStreaming, 'endpoint.streaming'],
  ['concurrency', '--concurrency', ({ concurrency }) => concurrency, 'profiling.concurrency'],
  ['requestRate', '--request-rate', ({ requestRate }) => requestRate, 'profiling.rate'],
  ['requests', '--request-count', ({ requestCount }) => requestCount, 'profiling.requests'],
  [null, '--warmup-request-count', ({ warmup }) => warmup],
  ['inputTokens', '--synthetic-input-tokens-mean', ({ inputTokens: of }) => of?.mean, 'prompts.isl.mean'],
  ['inputStddev', '--synthetic-input-tokens-stddev', ({ inputTokens: of }) => of?.stddev, 'prompts.isl.stddev'],
  ['outputTokens', '--output-tokens-mean', ({ outputTokens: of }) => of?.mean, 'prompts.osl.mean'],
  ['outputStddev', '--output-tokens-stddev', ({ outputTokens: of }) => of?.stddev, 'prompts.osl.stddev'],
  ['seed', '--random-seed', ({ seed }) => seed, 'random_seed'],
];

/** The part of a cell that these options are. A spread of 0 is the default. */
function identityOf(valueOf: (row: OptionRow) => unknown): Record<string, string> {
  const stated = OPTIONS.map((row) => [row[0], textOf(valueOf(row))] as const);
  const named = stated.filter(([cell, text]) => cell !== null && !(cell.endsWith('Stddev') && text === '0'));
  return statedIdentity(Object.fromEntries(named));
}

/** Empty for a switch that is on. */
function textOf(value: unknown): string | undefined {
  if (value === true) return '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function runOf(settings: FilledSettings, resolve: (path: string) => string): string[] {
  const { config, extraArgs = [], extraInputs: fields = {}, program, tokenizer } = settings;
  return [
    program,
    'profile',
    ...option('--config', config === undefined ? undefined : resolve(config)),
    ...OPTIONS.flatMap(([, flag, valueOf]) => {
      const text = textOf(valueOf(settings));
      return text === '' ? [flag] : option(flag, text);
    }),
    ...option('--tokenizer', isFolder(tokenizer) ? resolve(tokenizer) : tokenizer),
    ...Object.entries(fields).flatMap(([name, value]) => option('--extra-inputs', `${name}:${value}`)),
    ...extraArgs,
    ...option('--artifact-dir', '{runFolder}'),
    ...option('--ui', 'none'),
  ];
}

/** The settings with defaults. With a request rate and no concurrency, requests are sent at that rate. */
function filled(settings: AiperfSettings) {
  const { endpointType = 'chat', program = 'aiperf', requestRate, seed = 0 } = settings;
  const concurrency = settings.concurrency ?? (requestRate === undefined ? 1 : undefined);
  return { ...settings, concurrency, endpointType, program, seed };
}

function isFolder(tokenizer: string | undefined): tokenizer is string {
  return tokenizer !== undefined && /^[./]/.test(tokenizer);
}

function hasTokens({ endpointType = 'chat' }: AiperfSettings): boolean {
  return endpointType === 'chat' || endpointType === 'completions';
}

/** Numbers of a report: the unit that each of them states, and its name here. */
const NUMBERS: readonly (readonly [field: string, unit: string, name?: string])[] = [
  ['request_throughput', 'requests/sec'],
  ['request_latency', 'ms', 'requestLatency'],
  ['time_to_first_token', 'ms', 'ttft'],
  ['inter_token_latency', 'ms', 'itl'],
  ['output_token_throughput', 'tokens/sec', 'outputThroughput'],
  ['total_token_throughput', 'tokens/sec', 'totalThroughput'],
  ['output_token_throughput_per_user', 'tokens/sec/user', 'outputThroughputPerUser'],
];

/** Fields of numbers by their names here. */
function fieldsIn<Field>(unit: RegExp, fieldOf: (field: string) => Field): Readonly<Record<string, Field>> {
  const wanted = NUMBERS.filter(([, stated]) => unit.test(stated));
  return Object.fromEntries(wanted.map(([field, , name = field]) => [name, fieldOf(field)]));
}

const TIMES = fieldsIn(/^ms$/, (field) => ({ mean: `${field}.avg`, percentiles: field }));
const TOKENS_PER_S = fieldsIn(/^tokens/, (field) => `${field}.avg`);

/** Why the report is unusable; null if it is fine. */
function flawOf({ at, number }: JsonReport): string | null {
  if (at('was_cancelled') === true) return 'the run was cancelled';
  const failed = at('error_request_count') === undefined ? 0 : number('error_request_count.avg');
  if (failed > 0) return `${failed} of ${failed + number('request_count.avg')} requests failed`;
  const other = NUMBERS.find(([name, unit]) => at(name) !== undefined && at(`${name}.unit`) !== unit);
  if (other !== undefined) return `${other[0]} is not in ${other[1]}`;
  return at('is_complete') === false ? 'not complete: some records are missing' : null;
}

/**
 * `profile_export_aiperf.json` of AIPerf 0.13.0, schema 1.4. Source: `JsonExportData` in
 * aiperf/common/models/export_models.py. It repeats its settings, which are nearly the cell of a matrix. Its start time
 * is local without a zone and therefore not used.
 */
function reportOf(report: JsonReport): FoundReport {
  const { at, number } = report;
  const flaw = flawOf(report);
  if (flaw !== null) return { problem: flaw };
  const has = (name: string): boolean => at(name) !== undefined;
  const phaseOf = (name: string) => [0, 1].find((place) => at(`input_config.phases.${place}.name`) === name);
  const [timed, warmUp] = [phaseOf('profiling'), phaseOf('warmup')];
  const config = (place: string): unknown => {
    const found = place.replace(/^profiling/, `phases.${timed}`).replace(/^(?=prompts|random)/, 'datasets.0.');
    return at(`input_config.${found}`);
  };
  const stated = identityOf(([, , , place]) => place && config(place));
  const { concurrency, requestRate } = stated;
  const [model, extra] = [config('models.items.0.name'), config('endpoint.extra')];
  return {
    harnessVersion: String(at('aiperf_version') ?? ''),
    inFlight: concurrency === undefined ? null : Number(concurrency),
    warmUpRuns: has('input_config') ? Number(config(`phases.${warmUp}.requests`) ?? 0) : null,
    timedRuns: number('request_count.avg'),
    latencyMs: llm.latencyOf(report, 'request_latency', ['min', 'max', 'avg']),
    values: llm.valuesOf(report, 'request_throughput.avg', TIMES, TOKENS_PER_S),
    metric: judgedBy(has('time_to_first_token'), has('output_token_throughput'), requestRate !== undefined),
    stated: {
      model: typeof model === 'string' ? model : null,
      identity: { ...stated, ...extraInputs(isRecord(extra) ? extra : {}) },
    },
  };
}

function extraInputs(extra: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(extra).map(([name, value]) => [`extra.${name}`, String(value)]));
}
