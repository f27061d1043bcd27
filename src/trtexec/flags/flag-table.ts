import { keysOf } from '../../text/unknown-values.ts';
import { compareTensorrtVersions, parseTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';

/**
 * `build`: acts when an engine is built; `both`: also when it is loaded; `report`: changes what is printed or written.
 */
export type FlagPhase = keyof typeof FLAGS_BY_PHASE;

type FlagValue = 'none' | 'needed' | 'optional';

interface TrtexecFlag {
  readonly value: FlagValue;
  readonly phase: FlagPhase;
  readonly since: TensorrtVersion;
  readonly removed: TensorrtVersion | null;
  /** The value is a path, relative to the matrix file. */
  readonly isPath: boolean;
  /** trtexec accepts it repeatedly; any other flag given twice is an unknown option. */
  readonly isRepeatable: boolean;
}

/**
 * The flags of trtexec, read from NVIDIA's open-source tags 6.0 to 11.1. Each has the first release that has it and the
 * first one that no longer does. The phase is the one in which a flag acts, which may differ from the one in `--help`:
 * `--timeRefit` has no effect on a loaded engine, and `--profilingVerbosity` also sets the verbosity of NVTX. Runs of
 * an engine with marked tensors repeat those flags, so that they show what the engine is.
 */
const FLAGS_BY_PHASE = {
  build: {
    none: `--adjustForDLA 10.16, --allowGPUFallback 6.0, --best 7.1..11.0, --bf16 9.1..11.0, --buildDLAStandalone 8.6,
    --buildOnly 6.0..10.0, --consistency 8.2, --continue 11.1, --cpuOnly 10.15, --directIO 8.2,
    --distributiveIndependence 10.12, --dryRun 11.1, --dumpKernelText 10.13, --enablePluginOverride 10.15,
    --errorOnTimingCacheMiss 9.1, --excludeLeanRuntime 8.6, --explicitBatch 6.0..10.0,
    --explicitPrecision 8.0..10.0, --fp16 6.0..11.0, --fp8 8.6..11.0, --heuristic 8.5..10.0,
    --ignoreParsedPluginLibs 8.6, --int4 10.1..11.0, --int8 6.0..11.0, --monitorMemory 10.6,
    --nativeInstanceNorm 9.1..10.0, --ni 9.1..10.0, --noBuilderCache 7.1, --noCompilationCache 9.1, --noTF32 7.1,
    --pi 10.0, --pluginInstanceNorm 10.0, --refit 7.2, --reportCapabilityDLA 10.16, --restricted 8.2..11.0,
    --safe 6.0, --saveAllEngines 11.1, --skipInference 8.6, --stripAllWeights 10.1, --stripWeights 10.0,
    --stronglyTyped 9.1, --timeRefit 8.0, --uffNHWC 6.0..9.1, --uint8AsymmetricQuantizationDLA 10.11,
    --weightless 9.3..11.0`,
    optional: `--helpBuildRoute 11.1`,
    needed: `--avgTiming 6.0, --builderOptimizationLevel 8.6, --calib 6.0..11.0, --calibProfile 9.1..11.0,
    --decomposableAttentions 10.14, --deploy 6.0..9.1, --hardwareCompatibilityLevel 8.6, --inputIOFormats 6.0,
    --l2LimitForTiling 10.8, --layerDeviceTypes 8.6, --layerOutputTypes 8.4..11.0, --layerPrecisions 8.4..11.0,
    --maxAuxStreams 8.6, --maxBatch 6.0..9.1, --maxShapes 6.0, --maxShapesCalib 7.1..11.0, --maxTactics 10.4,
    --memPoolSize 8.4, --minShapes 6.0, --minShapesCalib 7.1..11.0, --minTiming 6.0..10.0, --model 6.0..9.1,
    --nvtxMode 7.1..10.0, --onnx 6.0, --optShapes 6.0, --optShapesCalib 7.1..11.0, --output 6.0..9.1,
    --outputIOFormats 6.0, --precisionConstraints 8.2..11.0, --preview 8.5, --profile 9.1,
    --remoteAutoTuningConfig 10.13, --runtimePlatform 10.2, --saveEngine 6.0, --setBuildRoute 11.1,
    --setPluginsToSerialize 8.6, --sparsity 8.0, --tacticSources 7.2, --tilingOptimizationLevel 10.8,
    --timingCacheFile 8.0, --tuneBuildRouteFile 11.1, --tuneBuildRoutes 11.1, --tuningCacheFile 11.1,
    --tuningSearch 11.1, --tuningTimeOut 11.1, --uff 6.0..9.1, --uffInput 6.0..9.1, --workspace 6.0..10.0`,
  },
  inference: {
    none: `--asyncFileReader 10.7, --exposeDMA 7.0, --getPlanVersionOnly 9.1, --includeDataTransfers 11.0,
    --noCudaGraph 11.0, --noDataTransfers 7.2, --noSpinWait 11.0, --separateProfileRun 7.2, --threads 6.0,
    --timeDeserialize 8.0, --useCudaGraph 6.0, --useManagedMemory 8.2, --useSpinWait 7.0`,
    needed: `--accuracyAlgorithm 11.1, --accuracyThreshold 11.1, --allocationStrategy 10.0, --atol 11.1, --batch 6.0..9.1,
    --duration 6.0, --idleTime 8.2, --infStreams 8.6, --iterations 6.0, --leanDLLPath 8.6, --loadEngine 6.0,
    --loadInputs 7.0, --loadRefOutputs 11.1, --persistentCacheRatio 8.5, --refPair 11.1, --refitFromOnnx 10.14,
    --rtol 11.1, --saveAllDebugTensors 10.12, --saveDebugTensors 10.0, --shapes 6.0, --sleepTime 7.0,
    --streams 6.0, --tempdir 8.6, --tempfileControls 8.6, --tuningResultFile 11.1, --useProfile 9.1,
    --useRuntime 8.6, --warmUp 6.0, --weightStreamingBudget 10.0`,
  },
  both: {
    none: `--allowWeightStreaming 10.0, --markUnfusedTensorsAsDebugTensors 10.12, --vc 8.6, --versionCompatible 8.6`,
    needed: `--device 6.0, --dynamicPlugins 8.6, --markDebug 10.0, --plugins 6.0, --profilingVerbosity 8.2,
    --safetyPlugins 10.13, --staticPlugins 8.6, --useDLACore 6.0`,
  },
  report: {
    none: `--dumpLayerInfo 8.2, --dumpOptimizationProfile 9.1, --dumpOutput 6.0, --dumpProfile 6.0,
    --dumpRawBindingsToFile 8.6, --dumpRefit 7.2, --help 6.0, --verbose 6.0, -h 7.1`,
    needed: `--avgRuns 6.0, --exportLayerInfo 8.2, --exportOutput 7.0, --exportProfile 6.0, --exportTimes 6.0,
    --percentile 6.0`,
  },
} as const;
const PATHS =
  '--calib --dynamicPlugins --leanDLLPath --plugins --refitFromOnnx --safetyPlugins --setPluginsToSerialize --staticPlugins --tempdir';
const REPEATABLE = '--dynamicPlugins --plugins --setPluginsToSerialize --staticPlugins';

/** @param row a flag with the version that has it first, and the one that no longer has it: `--best 7.1..11.0` */
function flagOf(row: string, phase: FlagPhase, value: FlagValue): [string, TrtexecFlag] {
  const [flag = '', since = '', removed] = row.split(/ |\.\./);
  const isIn = (list: string): boolean => list.split(' ').includes(flag);
  const versions = { since: versionOf(since), removed: removed === undefined ? null : versionOf(removed) };
  return [flag, { value, phase, ...versions, isPath: isIn(PATHS), isRepeatable: isIn(REPEATABLE) }];
}

const FLAGS: ReadonlyMap<string, TrtexecFlag> = new Map(
  keysOf(FLAGS_BY_PHASE)
    .flatMap((phase) => {
      const byValue: Readonly<Partial<Record<FlagValue, string>>> = FLAGS_BY_PHASE[phase];
      const rowsOf = (value: FlagValue): string[] => byValue[value]?.split(/,\s+/) ?? [];
      return keysOf(byValue).flatMap((value) => rowsOf(value).map((row) => flagOf(row, phase, value)));
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1)),
);

function versionOf(text: string): TensorrtVersion {
  return parseTensorrtVersion(text) ?? { major: 0, minor: 0, patch: 0 };
}

export function flagNames(): string[] {
  return [...FLAGS.keys()];
}

export function findFlag(flag: string): TrtexecFlag | undefined {
  return FLAGS.get(flag);
}

/** Flags that trtexec accepts without effect, or calls deprecated, from a version on. */
const OUTDATED: Readonly<Record<string, readonly [since: string, what: string]>> = {
  '--directIO': ['10.7', 'is deprecated'],
  '--explicitBatch': ['8.0', 'has no effect'],
  '--explicitPrecision': ['8.0', 'has no effect'],
  '--plugins': ['8.6', 'is deprecated: --staticPlugins replaces it'],
};

/** What trtexec of `version` no longer does with a flag; null if it acts. */
export function outdatedText(flag: string, version: TensorrtVersion): string | null {
  const [since, what] = OUTDATED[flag] ?? [];
  return since === undefined || compareTensorrtVersions(version, versionOf(since)) < 0 ? null : `${flag} ${what}`;
}

/** True if trtexec of `version` accepts the flag; false for an unknown flag. */
export function isFlagIn(flag: string, version: TensorrtVersion): boolean {
  const known = FLAGS.get(flag);
  if (known === undefined) return false;
  if (compareTensorrtVersions(version, known.since) < 0) return false;
  if (known.removed !== null && compareTensorrtVersions(version, known.removed) >= 0) return false;
  // Some versions in between lack it.
  const isGap = flag === '--consistency' && version.major === 10 && version.minor >= 4 && version.minor <= 12;
  return !isGap;
}

/** Splits `--flag=value`; null for a flag without a value. */
function splitFlag(arg: string): readonly [flag: string, value: string | null] {
  const equals = arg.indexOf('=');
  return equals === -1 ? [arg, null] : [arg.slice(0, equals), arg.slice(equals + 1)];
}

/** The values of a command line by flag; the empty text for a flag without one. */
export function flagsOf(args: readonly string[]): Map<string, string> {
  return new Map(args.map(splitFlag).map(([flag, value]) => [flag, value ?? '']));
}

/** The flags of a command line that trtexec joined without quotes: it is split only where a flag begins. */
export function flagsIn(commandLine: string | null): Map<string, string> {
  return flagsOf((commandLine ?? '').trim().split(/\s+(?=--)/));
}

/** The file that a build flag names; null if it names none. */
export function fileOfFlag(flag: string): { readonly name: string; readonly path: string } | null {
  const [name, path] = splitFlag(flag);
  return path === null || findFlag(name)?.isPath !== true ? null : { name, path };
}

/** A flag as the store keeps it: the hash of the file replaces its folder. */
export function flagWithHash(name: string, path: string, sha256: string): string {
  return `${name}=${baseOf(path)}@sha256:${sha256}`;
}

/** A LIKE pattern (escape \) that matches stored flags whatever the folders and contents of files. */
export function storedFlagsPattern(flags: readonly string[]): string {
  const parts = flags.map((flag) => {
    const file = fileOfFlag(flag);
    return file === null
      ? literally(JSON.stringify(flag))
      : `"${file.name}=%${literally(JSON.stringify(baseOf(file.path)).slice(1, -1))}%"`;
  });
  return `[${parts.join(',')}]`;
}

function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export function flagValue(argv: readonly string[], flag: string): string | null {
  const prefix = `${flag}=`;
  return argv.find((part) => part.startsWith(prefix))?.slice(prefix.length) ?? null;
}
