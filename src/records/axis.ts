import { isOneOf } from '../text/unknown-values.ts';

/** Options of trtexec with their values, as in a cell; `''` for an option without a value. */
export type AxisFlags = Readonly<Record<string, string>>;

/** A matrix key for options of trtexec. A cell stores the options, and users read the word. */
export interface NamedAxis {
  /** The first option shows that the axis is set; the others accompany it. */
  readonly flags: readonly [string, ...string[]];
  /** The word for a cell without these options; null if TensorRT decides. */
  readonly byDefault: string | null;
  readonly takes: string;
  /** Null for an invalid word. */
  readonly spell: (word: string) => AxisFlags | null;
  readonly wordOf: (value: string, flags: AxisFlags) => string;
}

export const RUNTIMES = ['full', 'lean', 'dispatch'] as const;
export const WEIGHTS = ['full', 'stripped', 'refittable'] as const;
export const ALLOCATION_STRATEGIES = ['static', 'profile', 'runtime'] as const;
export const SPARSITIES = ['disable', 'enable', 'force'] as const;
export const LOADERS = ['default', 'async'] as const;
/** bench builds with `detailed`, so that layers have kernels; trtexec's default only gives names. */
export const PROFILING_VERBOSITIES = ['detailed', 'layer_names_only', 'none'] as const;

/** The flag of a cell that names its neighbor, the model that runs on the same GPU. */
export const NEIGHBOR = 'with';

const same = (value: string): string => value;

/** An axis whose words stand for options, of which the first shows that it is set; the first word is the default. */
function wordAxis(flags: NamedAxis['flags'], options: Readonly<Record<string, AxisFlags>>): NamedAxis {
  const [byDefault = null, ...words] = Object.keys(options);
  const isSet = (word: string, stated: AxisFlags): boolean =>
    Object.entries(options[word] ?? {}).every(([flag, value]) => stated[flag] === value);
  return {
    flags,
    byDefault,
    takes: Object.keys(options).join(', '),
    spell: (word) => (Object.hasOwn(options, word) ? (options[word] ?? null) : null),
    wordOf: (value, stated) => words.findLast((word) => isSet(word, stated)) ?? value,
  };
}

/** An axis whose words are the values of one option. */
function oneFlag(flag: string, words: readonly [string, ...string[]]): NamedAxis {
  const options = words.map((word, place) => [word, place === 0 ? {} : { [flag]: word }] as const);
  return wordAxis([flag], Object.fromEntries(options));
}

function withValue(flag: string, value: string | null): AxisFlags | null {
  return value === null ? null : { [flag]: value };
}

function wholeNumber(flag: string, most: number): NamedAxis {
  return {
    flags: [flag],
    byDefault: null,
    takes: `whole numbers up to ${most}`,
    spell: (word) => (/^\d+$/.test(word) && Number(word) <= most ? { [flag]: word } : null),
    wordOf: same,
  };
}

export const NAMED_AXES = {
  runtime: oneFlag('--useRuntime', RUNTIMES),
  weights: wordAxis(['--stripWeights', '--refit'], {
    full: {},
    stripped: { '--stripWeights': '' },
    refittable: { '--stripWeights': '', '--refit': '' },
  }),
  weightBudget: {
    flags: ['--weightStreamingBudget'],
    byDefault: null,
    takes: 'off, auto, a share of the weights (50%) or their size with its unit (512M, 2G)',
    spell: (word) => withValue('--weightStreamingBudget', budgetCode(word)),
    wordOf: budgetWord,
  },
  allocationStrategy: oneFlag('--allocationStrategy', ALLOCATION_STRATEGIES),
  auxStreams: wholeNumber('--maxAuxStreams', 1000),
  sparsity: oneFlag('--sparsity', SPARSITIES),
  builderOptimizationLevel: wholeNumber('--builderOptimizationLevel', 5),
  memPoolSize: {
    flags: ['--memPoolSize'],
    byDefault: null,
    takes: 'pools with their sizes, each pool once, such as workspace:512M or workspace:2G,dlaSRAM:1M',
    spell: (word) => withValue('--memPoolSize', poolsInMib(word)),
    wordOf: (value) => value.replaceAll(/:(\d+)(?=,|$)/g, ':$1MiB'),
  },
  loader: wordAxis(['--asyncFileReader'], { default: {}, async: { '--asyncFileReader': '' } }),
  profilingVerbosity: oneFlag('--profilingVerbosity', PROFILING_VERBOSITIES),
  device: {
    flags: ['--useDLACore', '--allowGPUFallback'],
    byDefault: 'gpu',
    takes: 'gpu, or a core of the DLA: dla0, dla1, …',
    spell: (word) => {
      const core = /^dla(\d{1,2})$/.exec(word)?.[1];
      if (core !== undefined) return { '--useDLACore': core, '--allowGPUFallback': '' };
      return word === 'gpu' ? {} : null;
    },
    wordOf: (core, flags) => `dla${core}${flags['--allowGPUFallback'] === undefined ? '-alone' : ''}`,
  },
  /** Starts a second process; not a flag of trtexec. */
  with: {
    flags: [NEIGHBOR],
    byDefault: 'none',
    takes: 'none, or a model of the matrix',
    spell: (word) => (word === 'none' ? {} : { [NEIGHBOR]: word }),
    wordOf: same,
  },
} satisfies Readonly<Record<string, NamedAxis>>;

export function profilingVerbosity(flags: AxisFlags): (typeof PROFILING_VERBOSITIES)[number] {
  const stated = flags['--profilingVerbosity'];
  return PROFILING_VERBOSITIES.find((word) => word === stated) ?? 'detailed';
}

const BY_NAME: ReadonlyMap<string, NamedAxis> = new Map(Object.entries(NAMED_AXES));

export function namedAxis(name: string): NamedAxis | undefined {
  return BY_NAME.get(name);
}

export function namedWords(flags: AxisFlags): { name: string; word: string }[] {
  return [...BY_NAME].flatMap(([name, axis]) => {
    const value = flags[axis.flags[0]];
    return value === undefined ? [] : [{ name, word: axis.wordOf(value, flags) }];
  });
}

/** The words of named axes, and other options unchanged. */
export function axisWords(flags: AxisFlags): { name: string; word: string }[] {
  const named = namedWords(flags);
  const known = new Set(named.flatMap(({ name }) => BY_NAME.get(name)?.flags ?? []));
  const others = Object.entries(flags).filter(([flag]) => !known.has(flag));
  return [...named, ...others.map(([name, word]) => ({ name, word }))];
}

/** Options in the form of a label. */
export function flagWords(flags: AxisFlags): string[] {
  return axisWords(flags).map(({ name, word }) => (word === '' ? name : `${name}=${word}`));
}

/** trtexec's codes: -2 streams nothing, -1 lets TensorRT decide. A plain number is bytes in every version. */
function budgetCode(word: string): string | null {
  if (word === 'off') return '-2';
  if (word === 'auto') return '-1';
  const share = /^(\d+(?:\.\d+)?)%$/.exec(word)?.[1];
  if (share !== undefined) return Number(share) <= 100 ? word : null;
  // Ambiguous: trtexec reads bytes, but the user may mean a percentage.
  const bytes = /^\d+$/.test(word) ? null : bytesOf(word, 1);
  return bytes === null ? null : String(bytes);
}

function budgetWord(code: string): string {
  if (code === '-2') return 'off';
  if (code === '-1') return 'auto';
  if (!/^\d+$/.test(code)) return code;
  const bytes = Number(code);
  const unit = bytes === 0 ? undefined : UNITS.find(([, size]) => bytes % size === 0);
  return unit === undefined ? `${bytes}B` : `${bytes / unit[1]}${unit[0]}`;
}

const UNITS = [
  ['G', 2 ** 30],
  ['M', 2 ** 20],
  ['K', 2 ** 10],
] as const;

/** @param plain bytes for a number without a unit */
function bytesOf(text: string, plain: number): number | null {
  const match = /^(\d+)(?:([BKMG])(?:iB)?)?$/.exec(text);
  if (match === null) return null;
  const size = match[2] === undefined ? plain : (UNITS.find(([unit]) => unit === match[2])?.[1] ?? 1);
  const bytes = Number(match[1]) * size;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

const POOLS = ['workspace', 'tacticSharedMem', 'dlaSRAM', 'dlaLocalDRAM', 'dlaGlobalDRAM'] as const;
const MIB = 2 ** 20;

/** Pools of `--memPoolSize` of which one is named twice. */
export const POOL_TWICE = /\b(\w+):.*,\1:/;

/**
 * Pools in MiB without a suffix, because versions read suffixes differently. Shared memory for tactics is less than a
 * MiB, and that pool exists since 10.0.
 */
function poolsInMib(word: string): string | null {
  const pools = word.split(',').map((part) => {
    const colon = part.indexOf(':');
    const bytes = bytesOf(part.slice(colon + 1), MIB);
    const isWhole = bytes !== null && bytes > 0 && bytes % MIB === 0;
    const pool = part.slice(0, Math.max(colon, 0));
    if (isOneOf(POOLS, pool) && isWhole) return `${pool}:${bytes / MIB}`;
    const isKib = pool === 'tacticSharedMem' && bytes !== null && bytes > 0 && bytes % 2 ** 10 === 0;
    return isKib ? `${pool}:${bytes / 2 ** 10}K` : null;
  });
  return pools.includes(null) || POOL_TWICE.test(word) ? null : pools.join(',');
}
