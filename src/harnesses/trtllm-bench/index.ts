import { defineDriver, type DriverPlace, type DriverPlan, wrong } from '../driver.ts';
import {
  firstOf,
  identityOfArgs,
  isStreaming,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  shortHash,
  statedIdentity,
} from '../llm-values.ts';
import { limitsOf } from '../started-program.ts';
import {
  CELL_OPTIONS,
  DEFAULT_ESTIMATE_S,
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

/** Set by bench. */
const OWN_ARGS = ['--model', '--model_path', '--dataset', '--report_json', '--backend'];

function plan(settings: TrtllmSettings, { resolve, sha256Of }: DriverPlace): DriverPlan {
  const refused = refusedSetting(settings);
  if (refused !== null) return refused;
  const { backend = 'pytorch', config, dataset, mode } = settings;
  const unreadable = 'no such file, or it cannot be read';
  const datasetHash = sha256Of(resolve(dataset));
  if (datasetHash === null) {
    const advice = `bench can make one: bench model make-dataset ${dataset} --requests 1000 --input-mean 128 --output-mean 128`;
    return wrong(['dataset'], `${dataset}: ${unreadable}; ${advice}`);
  }
  const configHash = config === undefined ? null : sha256Of(resolve(config));
  if (config !== undefined && configHash === null) return wrong(['config'], `${config}: ${unreadable}`);
  const stated = {
    mode,
    checkpoint: settings.model,
    backend,
    dataset: shortHash(datasetHash),
    streaming: isStreaming(settings) ? '' : undefined,
    ...Object.fromEntries(CELL_OPTIONS.map(([name]) => [name, settings[name]])),
    config: configHash === null ? undefined : shortHash(configHash),
  };
  // Expert parallelism splits the ranks of tensor parallelism anew.
  const gpus = Number(settings.tp ?? 1) * Number(settings.pp ?? 1);
  return {
    kind: 'planned',
    cell: {
      harness: { name: HARNESS_NAME, timer: 'wall', metric: mode === 'latency' ? REQUEST_LATENCY : OUTPUT_THROUGHPUT },
      identity: { ...statedIdentity(stated), ...identityOfArgs(settings.extraArgs ?? []) },
      argv: trtllmArgs(settings, resolve),
      cwd: null,
      env: {},
      resultFiles: [REPORT_NAME],
      ...limitsOf(settings, DEFAULT_ESTIMATE_S),
      ...(gpus === 1 ? {} : { gpus }),
    },
  };
}

/** A setting that trtllm-bench would reject, or accept and ignore. */
function refusedSetting(settings: TrtllmSettings): DriverPlan | null {
  const { backend = 'pytorch', engineDir, extraArgs = [], mode } = settings;
  if (mode === 'latency') {
    for (const path of ['streaming', 'maxBatchSize', 'maxNumTokens'] as const) {
      if (settings[path] === undefined) continue;
      const why = path === 'streaming' ? 'it always streams' : 'its batch is 1';
      return wrong([path], `mode: latency has no ${path}: ${why}`);
    }
  }
  if (backend === 'tensorrt' && engineDir === undefined) {
    return wrong(['backend'], 'backend: tensorrt needs engineDir, the built engine');
  }
  if (backend === 'tensorrt' && settings.maxSeqLen !== undefined) {
    return wrong(['maxSeqLen'], 'backend: tensorrt takes maxSeqLen when the engine is built');
  }
  if (backend !== 'tensorrt' && engineDir !== undefined) {
    return wrong(['engineDir'], `engineDir is for backend: tensorrt, not for ${backend}`);
  }
  const own = firstOf(extraArgs, OWN_ARGS);
  return own === null ? null : wrong(['extraArgs'], `${own}: bench sets it from the settings`);
}
