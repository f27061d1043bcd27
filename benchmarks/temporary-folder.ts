import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Lends a folder that is gone when the work is done, also when it fails. */
export async function inTemporaryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-measure-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const stop = (): never => {
    remove();
    process.exit(130);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    return await work(folder);
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    remove();
  }
}
