/** Values of command lines that are looked up when somebody presses Tab. */
export const VALUE_KINDS = [
  'matrix',
  'cell',
  'ref',
  'sweep',
  'baseline',
  'branch',
  'finding',
  'engine',
  'recording',
  'schema',
  'topic',
] as const;

export type ValueKind = (typeof VALUE_KINDS)[number];

type Kinds = Readonly<Record<string, readonly ValueKind[]>>;

/** By the name of an argument, or by command and argument where the name alone says too little. Others are files. */
export const VALUES_OF_ARGUMENTS: Kinds = {
  matrix: ['matrix'],
  cell: ['cell'],
  cells: ['cell'],
  base: ['ref'],
  head: ['ref'],
  good: ['ref'],
  bad: ['ref'],
  ref: ['ref'],
  finding: ['finding'],
  topic: ['topic'],
  keys: ['engine'],
  'show what': ['sweep', 'cell'],
  'layers what': ['cell'],
  'profile command': [],
  'export what': ['cell'],
  'repro what': ['cell'],
  'model accuracy what': ['matrix'],
  'ab matrix': ['matrix', 'sweep'],
  'schema name': ['schema'],
  'baseline set name': ['baseline'],
  'baseline show name': ['baseline'],
  'baseline rm name': ['baseline'],
};

export const VALUES_OF_OPTIONS: Kinds = {
  '--matrix': ['matrix'],
  '--cell': ['cell'],
  '--at': ['ref'],
  '--against': ['ref'],
  '--diff': ['ref'],
  '--as-of': ['sweep'],
  '--resume': ['sweep'],
  '--read': ['sweep'],
  '--branch': ['branch'],
  '--replay': ['recording'],
};
