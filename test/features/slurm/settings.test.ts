import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { MatrixError } from '../../../src/errors.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';
import { mistakesIn, oneModel } from '../../support/matrices.ts';
import { readSlurmProfile, readSlurmSetting } from '../../../src/features/slurm/submit.ts';

const SOME = ['axes: {batch: 8}', 'build: {opt: {batch: 8}}'];

test('a profile is what stands under slurm:', () => {
  const settings = { partition: 'gpu', time: '1:30:00', maxParallel: 4 };
  const lines = ['partition: gpu', 'time: "1:30:00"', 'maxParallel: 4'];
  expect(readSlurmProfile('p.yaml', lines.join('\n'))).toEqual(settings);
  expect(readSlurmSetting('extraArgs=[--licenses=trt:1, -C x]')).toEqual({ extraArgs: ['--licenses=trt:1', '-C x'] });
});

test.each([
  'partition=a b',
  'nodelist=gpu1;gpu2',
  'gres=$(id)',
  'time=soon',
  'extraArgs=["--array=1-2"]',
  'extraArgs=["--arr=1"]',
  'extraArgs=["--requeue"]',
  'extraArgs=["-o/tmp/x"]',
  'extraArgs=["--wrap=x"]',
  'extraArgs=[task.sh]',
  'extraArgs=["--licenses=x\\ny"]',
  'container={image: x, mounts: ["a:b"]}',
  'colour=red',
  'partition',
])('%s is refused', (setting) => expect(() => readSlurmSetting(setting)).toThrow(MatrixError));

test('a mistake under slurm: is told with its place', () => {
  expect(mistakesIn(oneModel(...SOME, 'slurm: {partition: gpu, exclusiv: true}'))).toEqual([
    'm.yaml:8:25: unknown key "exclusiv"; did you mean "exclusive"?',
  ]);
});

test('without Slurm, one line says so, and nothing is left', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'm.yaml'), oneModel(...SOME));
  const expected = { code: 3, stderr: expect.stringMatching(/^bench: sbatch not found.*\n$/) };
  expect(await bench(['run', 'm.yaml', '--executor', 'slurm'], { cwd, env: { PATH: cwd } })).toMatchObject(expected);
  expect(readdirSync(cwd)).toEqual(['m.yaml']);
});

test.each([
  [['--executor', 'slurm', '--budget', '5m'], '--budget cannot be used with --executor slurm'],
  [['--executor', 'slurm', '--resume'], 'bench slurm resume RUN'],
  [['--slurm', 'partition=gpu'], '--slurm needs --executor slurm'],
  [['--wait'], '--wait needs --executor slurm'],
])('bench run %j is refused', async (args, text) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'm.yaml'), oneModel(...SOME));
  expect(await bench(['run', 'm.yaml', ...args], { cwd })).toEqual(refusal(text));
});

test.each([['collect'], ['resume'], ['cancel']])(
  'bench %s of something else is refused in one line',
  async (command) => {
    const cwd = temporaryFolder();
    for (const path of ['.', 'nowhere']) {
      expect(await bench(['slurm', command, path], { cwd })).toEqual(refusal(/^bench: [^\n]+\n$/));
    }
  },
);
