/** What a picture shows, and what is done before it. A line is a command as a person types it. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  readonly before: readonly (readonly string[])[];
  readonly shown: readonly (readonly string[])[];
}

const PAIR: Scene['before'] = [
  ['bench', 'run', 'matrices/quickstart-pair.yaml'],
  ['git', 'commit', '--quiet', '--allow-empty', '--message', 'optimize for batch 32'],
  ['bench', 'run', 'matrices/quickstart-pair-opt32.yaml'],
];

export const SCENES: readonly Scene[] = [
  {
    name: 'compare',
    title:
      'Terminal: bench compare HEAD~1 calls two cells slower, by 25.5 and 15.8 percent; bench trend draws the step. Recorded runs.',
    before: PAIR,
    shown: [
      ['bench', 'compare', 'HEAD~1'],
      ['bench', 'trend', 'batch=1', '--height', '6'],
    ],
  },
  {
    name: 'why',
    title: 'Terminal: bench why says where the time of vit_small fp16 b8 went, layer by layer. Recorded runs.',
    before: PAIR,
    shown: [['bench', 'why', 'batch=8', 'HEAD~1', 'HEAD']],
  },
  {
    name: 'choose',
    title:
      'Terminal: bench choose lists speed, latency and memory of FP16 and FP8 by batch, and says that FP8 is slower here. Recorded runs.',
    before: [['bench', 'run', 'matrices/quickstart.yaml', '--filter', 'model=vit_small & cudaGraph=on']],
    shown: [['bench', 'choose']],
  },
];
