import { defineDriver, type DriverPlace, type DriverPlan } from '../driver.ts';
import {
  firstOf,
  identityOfArgs,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  shortHash,
  statedIdentity,
} from '../llm-values.ts';
import { limitsOf } from '../started-program.ts';
import {
  DEFAULT_ESTIMATE_S,
  isStreaming,
  REPORT_NAME,
  trtllmArgs,
  type TrtllmSettings,
  trtllmSettings,
} from './settings.ts';
import { HARNESS_NAME, readTrtllm, trtllmReports } from './report.ts';

/** TensorRT-LLM, measured by its own `trtllm-bench`. */
export const trtllmBenchDriver = defineDriver({
  kind: 'trtllm-bench',
  settings: trtllmSettings,
  files: ({ config, dataset }) => [dataset, ...(config === undefined ? [] : [config])],
  plan,
  read: readTrtllm,
  reports: trtllmReports,
  mark: /"avg_num_concurrent_requests"/,
});

/** Bench says these itself. */
const OWN_ARGS = ['--model', '--model_path', '--dataset', '--report_json', '--backend'];

function plan(settings: TrtllmSettings, { resolve, sha256Of }: DriverPlace): DriverPlan {
  const refused = refusedSetting(settings);
  if (refused !== null) return wrong(refused.path, refused.problem);
  const { backend = 'pytorch', config, dataset, mode } = settings;
  const datasetHash = sha256Of(resolve(dataset));
  if (datasetHash === null) {
    return wrong(
      'dataset',
      `${dataset}: no such file, or it cannot be read; bench can make one: bench model make-dataset ${dataset} --requests 1000 --input-mean 128 --output-mean 128`,
    );
  }
  const configHash = config === undefined ? null : sha256Of(resolve(config));
  if (config !== undefined && configHash === null) {
    return wrong('config', `${config}: no such file, or it cannot be read`);
  }
  const asked = {
    mode,
    checkpoint: settings.model,
    backend,
    dataset: shortHash(datasetHash),
    streaming: isStreaming(settings) ? '' : undefined,
    concurrency: settings.concurrency,
    requests: settings.requests,
    tp: settings.tp,
    pp: settings.pp,
    ep: settings.ep,
    maxBatchSize: settings.maxBatchSize,
    maxNumTokens: settings.maxNumTokens,
    maxSeqLen: settings.maxSeqLen,
    kvCacheFraction: settings.kvCacheFraction,
    config: configHash === null ? undefined : shortHash(configHash),
  };
  return {
    kind: 'planned',
    cell: {
      harness: { name: HARNESS_NAME, timer: 'wall', metric: mode === 'latency' ? REQUEST_LATENCY : OUTPUT_THROUGHPUT },
      identity: { ...statedIdentity(asked), ...identityOfArgs(settings.extraArgs ?? []) },
      argv: trtllmArgs(settings, resolve),
      cwd: null,
      env: {},
      resultFiles: [REPORT_NAME],
      ...limitsOf(settings, DEFAULT_ESTIMATE_S),
    },
  };
}

function wrong(path: string, problem: string): DriverPlan {
  return { kind: 'wrong', path: [path], problem };
}

/** What trtllm-bench would refuse, or take and not do. */
function refusedSetting(settings: TrtllmSettings): { path: string; problem: string } | null {
  const { backend = 'pytorch', engineDir, extraArgs = [], mode } = settings;
  if (mode === 'latency') {
    for (const path of ['streaming', 'maxBatchSize', 'maxNumTokens'] as const) {
      if (settings[path] === undefined) continue;
      const why = path === 'streaming' ? 'it always streams' : 'its batch is 1';
      return { path, problem: `mode: latency has no ${path}: ${why}` };
    }
  }
  if (backend === 'tensorrt' && engineDir === undefined) {
    return { path: 'backend', problem: 'backend: tensorrt needs engineDir, the built engine' };
  }
  if (backend === 'tensorrt' && settings.maxSeqLen !== undefined) {
    return { path: 'maxSeqLen', problem: 'backend: tensorrt takes maxSeqLen when the engine is built' };
  }
  if (backend !== 'tensorrt' && engineDir !== undefined) {
    return { path: 'engineDir', problem: `engineDir is for backend: tensorrt, not for ${backend}` };
  }
  const own = firstOf(extraArgs, OWN_ARGS);
  if (own !== null) return { path: 'extraArgs', problem: `${own}: bench sets it from the settings` };
  return null;
}
