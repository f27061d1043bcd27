import { defineDriver, type DriverPlace, type DriverPlan, wrong } from '../driver.ts';
import { firstOf, identityOfArgs, isStreaming, shortHash, statedIdentity } from '../llm-values.ts';
import {
  aiperfArgs,
  type AiperfSettings,
  aiperfSettings,
  concurrencyOf,
  DEFAULT_ESTIMATE_S,
  isFolder,
  REPORT_NAME,
} from './settings.ts';
import { limitsOf } from '../started-program.ts';
import { aiperfReports, HARNESS_NAME, hasTokens, judgedBy, readAiperf } from './report.ts';

/** A server with the OpenAI API, such as trtllm-serve, measured by NVIDIA's AIPerf. */
export const aiperfDriver = defineDriver({
  kind: 'aiperf',
  settings: aiperfSettings,
  files: (settings) => hashedFiles(settings).map(([, file]) => file),
  plan,
  read: readAiperf,
  reports: aiperfReports,
  mark: /"aiperf_version"/,
});

/** A header may be `Authorization`. */
const SECRET_ARGS = ['--api-key', '--header', '-H'];
/** Set by bench. */
const OWN_ARGS = ['--url', '-u', '--artifact-dir', '--output-artifact-dir', '--config', '-f'];

function plan(settings: AiperfSettings, { resolve, sha256Of }: DriverPlace): DriverPlan {
  const refused = refusedSetting(settings);
  if (refused !== null) return refused;
  const hashes: Record<string, string | undefined> = {};
  for (const [name, file] of hashedFiles(settings)) {
    const sha256 = sha256Of(resolve(file));
    if (sha256 === null) return wrong([name], `${file}: no such file, or it cannot be read`);
    hashes[name] = shortHash(sha256);
  }
  const { inputTokens, outputTokens, tokenizer } = settings;
  return {
    kind: 'planned',
    cell: {
      harness: {
        name: HARNESS_NAME,
        timer: 'wall',
        metric: judgedBy({
          hasTokens: hasTokens(settings.endpointType),
          isStreaming: isStreaming(settings),
          hasRate: settings.requestRate !== undefined,
        }),
      },
      identity: {
        ...statedIdentity({
          served: settings.model,
          endpoint: settings.endpointType ?? 'chat',
          streaming: isStreaming(settings) ? '' : undefined,
          concurrency: concurrencyOf(settings),
          requestRate: settings.requestRate,
          requests: settings.requestCount,
          inputTokens: inputTokens?.mean,
          inputStddev: inputTokens?.stddev || undefined,
          outputTokens: outputTokens?.mean,
          outputStddev: outputTokens?.stddev || undefined,
          seed: settings.seed ?? 0,
          tokenizer: hashes['tokenizer'] ?? tokenizer,
          config: hashes['config'],
        }),
        ...Object.fromEntries(
          Object.entries(settings.extraInputs ?? {}).map(([name, value]) => [`extra.${name}`, String(value)]),
        ),
        ...identityOfArgs(settings.extraArgs ?? []),
      },
      argv: aiperfArgs(settings, resolve),
      cwd: null,
      env: {},
      resultFiles: [REPORT_NAME],
      ...limitsOf(settings, DEFAULT_ESTIMATE_S),
    },
  };
}

function hashedFiles({ config, tokenizer }: AiperfSettings): [string, string][] {
  const files: [string, string | undefined][] = [
    ['config', config],
    ['tokenizer', isFolder(tokenizer) ? `${tokenizer}/tokenizer.json` : undefined],
  ];
  return files.flatMap(([name, file]): [string, string][] => (file === undefined ? [] : [[name, file]]));
}

const KEY_PLACE =
  'no place for a key: name a variable in a file of AIPerf, config: FILE with api_key: ${OPENAI_API_KEY}';

function refusedSetting({ apiKey, extraArgs = [], url }: AiperfSettings): DriverPlan | null {
  if (apiKey !== undefined) return wrong(['apiKey'], `settings are stored, ${KEY_PLACE}`);
  const secret = firstOf(extraArgs, SECRET_ARGS);
  if (secret !== null) return wrong(['extraArgs'], `${secret}: command lines are stored, ${KEY_PLACE}`);
  const own = firstOf(extraArgs, OWN_ARGS);
  if (own !== null) return wrong(['extraArgs'], `${own}: bench sets it from the settings`);
  const address = URL.parse(url);
  if (address === null || !/^https?:/.test(url)) {
    return wrong(['url'], 'no address of a server: write one such as http://localhost:8000');
  }
  return address.password === '' && address.username === ''
    ? null
    : wrong(['url'], 'the address is stored: no place for a name and password');
}
