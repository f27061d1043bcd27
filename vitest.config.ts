import { defineConfig } from 'vitest/config';

import { LongestFirst } from './test/support/longest-first.ts';
import { unitTests } from './test/support/unit-tests.ts';

const UNIT = unitTests();
const CLEAN_UP = './test/support/shared-folders.ts';

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests start real processes and wait for them: one worker more than two cores keeps those busy.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: UNIT, isolate: false, setupFiles: [CLEAN_UP, './test/support/no-processes.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.test.ts'],
          exclude: UNIT,
          setupFiles: [CLEAN_UP],
          globalSetup: ['./test/support/global-set-up.ts'],
        },
      },
    ],
  },
});
