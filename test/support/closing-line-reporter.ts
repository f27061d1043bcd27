import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends a run with the plain line `N passed, N failed`; with `BENCH_NO_SKIP=1` a skipped test counts as failed, and so
 * does each check (types, lint, ...) that `npm test` found wanting before.
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tally = { passed: 0, failed: errors.length + Number(process.env['BENCH_FAILED_CHECKS'] ?? 0), skipped: 0 };
    for (const module of modules) {
      const before = tally.failed;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') tally.passed += 1;
        else if (state === 'failed') tally.failed += 1;
        else {
          tally.skipped += 1;
          process.stderr.write(`skipped: ${test.fullName}\n`);
        }
      }
      // A file that cannot even be loaded has no tests that could fail.
      if (module.state() === 'failed' && tally.failed === before) tally.failed += 1;
    }
    const noSkip = process.env['BENCH_NO_SKIP'] === '1';
    const failed = tally.failed + (noSkip ? tally.skipped : 0);
    if (failed > 0) process.exitCode = 1;
    const skipped = tally.skipped > 0 && !noSkip ? `, ${tally.skipped} skipped` : '';
    process.stdout.write(`${tally.passed} passed, ${failed} failed${skipped}\n`);
  }
}
