/** What a picture of the terminal shows, and what is done before it. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  /** A checkout that runs recordings, a simulated store of 48 cells and 60 sweeps, or a clone of this repository. */
  readonly at: 'recorded' | 'simulated' | 'clone';
  readonly columns: number;
  /** Words of each command, as a person types it. */
  readonly before: readonly (readonly string[])[];
  readonly shown: readonly (readonly string[])[];
  /** The first lines only, as a terminal shows. */
  readonly lines?: number;
}

const pair = (...options: readonly string[]): Scene['before'] => [
  ['bench', 'run', 'matrices/quickstart-pair.yaml', ...options],
  ['git', 'commit', '--quiet', '--allow-empty', '--message', 'optimize for batch 32'],
  ['bench', 'run', 'matrices/quickstart-pair-opt32.yaml', ...options],
];

const SIMULATED = { at: 'simulated', columns: 80, before: [] } as const;
const RECORDED = { at: 'recorded', columns: 100, before: pair() } as const;

export const SCENES: readonly Scene[] = [
  {
    ...RECORDED,
    name: 'compare',
    title:
      'Terminal: bench compare HEAD~1 calls two cells slower, by 25.5 and 15.8 percent; bench trend draws the step. Recorded runs.',
    shown: [
      ['bench', 'compare', 'HEAD~1'],
      ['bench', 'trend', 'batch=1', '--height', '6'],
    ],
  },
  {
    ...RECORDED,
    name: 'why',
    title: 'Terminal: bench why says where the time of vit_small fp16 b8 went, layer by layer. Recorded runs.',
    before: pair('--filter', 'batch=8', '--profile'),
    shown: [['bench', 'why', 'batch=8', 'HEAD~1', 'HEAD']],
  },
  {
    ...RECORDED,
    name: 'choose',
    title:
      'Terminal: bench choose lists speed, latency and memory of FP16 and FP8 by batch, and says that FP8 is slower here. Recorded runs.',
    before: [['bench', 'run', 'matrices/quickstart.yaml', '--filter', 'model=vit_small & cudaGraph=on']],
    shown: [['bench', 'choose']],
  },
  {
    name: 'quickstart',
    at: 'clone',
    columns: 100,
    title: 'Terminal: the first lines of npm run quickstart: two commits, two cells slower, and why. Recorded runs.',
    before: [],
    shown: [['npm', 'run', 'quickstart']],
    lines: 58,
  },
  {
    ...SIMULATED,
    name: 'simulated-check',
    title: 'Terminal: bench check after 60 simulated sweeps: two findings, the worst in full with its chart.',
    shown: [['bench', 'check']],
    lines: 44,
  },
  {
    ...SIMULATED,
    name: 'simulated-trend',
    title: 'Terminal: bench trend of one cell over 60 simulated sweeps.',
    shown: [['bench', 'trend', 'vit_small fp8 b8', '--filter', 'cudaGraph=on']],
  },
  {
    ...SIMULATED,
    name: 'simulated-trend-12',
    title: 'Terminal: bench trend of the twelve cells of one model over 60 simulated sweeps.',
    shown: [['bench', 'trend', 'vit_small']],
    lines: 44,
  },
  {
    ...SIMULATED,
    name: 'simulated-compare',
    title: 'Terminal: bench compare of two simulated sweeps at 80 columns.',
    shown: [['bench', 'compare', 'latest~8', 'latest', '--filter', 'model=vit_small']],
  },
];
