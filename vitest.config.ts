import { defineConfig } from 'vitest/config';

import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests start real processes and wait for them: one worker more than two cores keeps those busy.
    maxWorkers: 3,
  },
});
