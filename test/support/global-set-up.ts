import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of `made-stores.ts`. */
    readonly madeStores: string;
  }
}

/** A folder that is there as long as the tests run. */
export default function setUp(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-stores-'));
  project.provide('madeStores', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
