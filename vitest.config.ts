import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests start real processes; more workers than cores only make them wait for each other.
    maxWorkers: 2,
  },
});
