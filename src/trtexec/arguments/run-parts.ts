import { findFlag } from '../flags/flag-table.ts';

/** The command line of a stored run, taken apart, so that the same engine can be looked at by other means. */
export interface RunParts {
  /** trtexec, without what started it. */
  readonly program: string;
  /** Null when the run built its engine itself, or that of another folder is not named. */
  readonly engine: string | null;
  /** The flags that built an engine; null when the run loaded one. */
  readonly buildArgs: readonly string[] | null;
  readonly runArgs: readonly string[];
}

/** @param argv the whole command line; flags of trtexec stand behind its name */
export function runParts(argv: readonly string[]): RunParts | null {
  const at = argv.findLastIndex((arg) => !arg.startsWith('-'));
  const program = argv[at];
  if (program === undefined) return null;
  const args = argv.slice(at + 1);
  const engine = args.find((arg) => arg.startsWith('--loadEngine='))?.slice('--loadEngine='.length);
  if (engine !== undefined) return { program, engine, buildArgs: null, runArgs: args };
  const onnx = args.filter((arg) => arg.startsWith('--onnx='));
  const built = args.filter((arg) => isBuild(arg) && !arg.startsWith('--onnx='));
  return {
    program,
    engine: null,
    buildArgs: onnx.length === 0 ? null : [...onnx, ...built],
    runArgs: args.filter((arg) => !isBuild(arg)),
  };
}

function isBuild(arg: string): boolean {
  const [name = ''] = arg.split('=', 1);
  return findFlag(name)?.phase === 'build';
}

/** What a layer profile of a loaded engine is taken with. */
export function profileArgs(runArgs: readonly string[], engine: string, separate: readonly string[]): string[] {
  const own = runArgs.filter(
    (arg) => !/^--(?:loadEngine|export\w+|dumpProfile|separateProfileRun|profilingVerbosity)(?:=|$)/.test(arg),
  );
  return [
    `--loadEngine=${engine}`,
    ...own,
    '--dumpProfile',
    ...separate,
    '--exportProfile=profile.json',
    '--exportLayerInfo=layers.json',
    '--profilingVerbosity=detailed',
  ];
}
