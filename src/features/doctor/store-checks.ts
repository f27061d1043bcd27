import type { FolderFacts } from '../../machine/folder-facts.ts';
import type { MachineFacts, StoreHealth } from '../../machine/machine-facts.ts';
import { type CheckRow, checksOf, type Judged } from './checks.ts';
import type { DoctorCheck } from './output.ts';

const GIB = 2 ** 30;
const WARN_BYTES = 10 * GIB;
const LEAST_BYTES = GIB;
/** A WAL this long was never checkpointed: something keeps the database open. */
const LONG_WAL_BYTES = GIB;

export function storeChecks({ store, folders }: MachineFacts): DoctorCheck[] {
  return checksOf('store', 'store', [['database', 'database', database(store)], ...folders.flatMap(folderRows)]);
}

function database(store: StoreHealth): Judged {
  const rebuild = 'bench import artefacts --db new.sqlite';
  const essential = true;
  if (store.kind === 'none') return { state: 'ok', evidence: `${store.path} is made by the first bench run` };
  if (store.kind === 'refused') {
    const mend = `bench doctor --db FILE   # name the store; if this is a damaged one: ${rebuild}`;
    return { state: 'failed', evidence: `${store.path} ${store.problem}`, mend, essential };
  }
  if (store.quickCheck !== 'ok') {
    const mend = `${rebuild}   # keep the file, and rebuild it from the folder next to it`;
    return { state: 'failed', evidence: `${store.path}: ${store.quickCheck}`, mend, essential };
  }
  const sweeps = store.sweeps === null ? '' : `, ${store.sweeps} ${store.sweeps === 1 ? 'sweep' : 'sweeps'}`;
  const evidence = `${store.path}: ${byteSize(store.bytes)}${sweeps}`;
  if (store.schema === 'newer') {
    return { state: 'failed', evidence: `${evidence}, written by a newer bench`, mend: '# update bench', essential };
  }
  if (store.walBytes > LONG_WAL_BYTES) {
    const mend = `lsof ${store.path}   # who keeps it open?`;
    return { state: 'warning', evidence: `${evidence}; its log has ${byteSize(store.walBytes)}`, mend };
  }
  const older = store.schema === 'older' ? '; of an older bench, brought up to date when next used' : '';
  return { state: 'ok', evidence: `${evidence}${older}`, essential };
}

function folderRows(folder: FolderFacts, index: number): CheckRow[] {
  const { holds, path, isThere, isWritable, networkFileSystem } = folder;
  const id = `folder${index}`;
  const own: CheckRow = [id, holds, { ...space(folder), essential: true }];
  if (!isThere || !isWritable || networkFileSystem === null) return [own];
  const mend = 'export BENCH_DB=/a/local/disk/bench.sqlite   # SQLite loses data on network file systems';
  return [own, [`${id}.network`, holds, { state: 'warning', evidence: `${path} is on ${networkFileSystem}`, mend }]];
}

function space({ path, freeBytes, isThere, isWritable }: FolderFacts): Judged {
  if (!isThere) return { state: 'failed', evidence: `${path} is not there`, mend: `mkdir -p ${path}` };
  if (!isWritable) {
    const mend = `chmod u+w ${path}   # or another place: --db FILE`;
    return { state: 'failed', evidence: `${path} may not be written`, mend };
  }
  const evidence = `${path}${freeBytes === null ? '' : `, ${byteSize(freeBytes)} free`}`;
  if (freeBytes === null || freeBytes >= WARN_BYTES) return { state: 'ok', evidence };
  const mend = `df -h ${path}   # engines and artefacts grow: free space, or another place with --db FILE`;
  return { state: freeBytes < LEAST_BYTES ? 'failed' : 'warning', evidence, mend };
}

export function byteSize(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.ceil(bytes / 1024)} KiB`;
  return bytes < GIB ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
}
