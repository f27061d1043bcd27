import process from 'node:process';

import { defineConfig } from 'vitest/config';

import { LongestFirst } from './test/support/longest-first.ts';

/** Developers' scripts, and every command of the documents: minutes. Run by `.ci/run`, or when named on the command line. */
const ONLY_IN_CI = ['test/scripts/**', 'test/docs/{typed,pictures,ci-recipes,recipes}.test.ts'];
const runsAll =
  process.env['BENCH_NO_SKIP'] === '1' || process.argv.some((word) => /^test\/(?:scripts|docs)/.test(word));

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests start real processes and wait for them: two workers more than two cores keep those busy.
    maxWorkers: 4,
    // Files share the modules of a worker: loading all of src for each costs a second of CPU.
    isolate: false,
    // Starting a process copies the page tables of the worker: a small heap makes that cheap.
    execArgv: ['--max-semi-space-size=4'],
    // The bundle as Node loads it: vite would read all of it anew for each command line.
    server: { deps: { external: [/\/dist\/cli\.js$/] } },
    include: ['test/**/*.test.ts'],
    exclude: runsAll ? [] : ONLY_IN_CI,
    setupFiles: ['./test/support/shared-folders.ts'],
    globalSetup: ['./test/support/global-set-up.ts'],
  },
});
