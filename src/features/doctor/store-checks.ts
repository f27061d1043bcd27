import type { DoctorCheck } from './output.ts';
import type { FolderFacts, MachineFacts, StoreHealth } from '../../machine/machine-facts.ts';
import { check } from './answer.ts';

const GROUP = 'store';
const GIB = 2 ** 30;
const WARN_BYTES = 10 * GIB;
const LEAST_BYTES = GIB;
/** A log this long was never written back: something keeps the database open. */
const LONG_WAL_BYTES = GIB;

export function storeChecks({ store, folders }: MachineFacts): DoctorCheck[] {
  return [databaseCheck(store), ...folders.flatMap((folder, index) => folderChecks(folder, index))];
}

function databaseCheck(store: StoreHealth): DoctorCheck {
  const [id, title] = ['store.database', 'database'];
  const rebuild = 'bench import artefacts --db new.sqlite';
  if (store.kind === 'none') {
    return check(GROUP, id, title, 'ok', `${store.path} is made by the first bench run`);
  }
  if (store.kind === 'refused') {
    return check(GROUP, id, title, 'failed', `${store.path} ${store.problem}`, {
      mend: `bench doctor --db FILE   # name the store; if this is a damaged one: ${rebuild}`,
      essential: true,
    });
  }
  if (store.quickCheck !== 'ok') {
    return check(GROUP, id, title, 'failed', `${store.path}: ${store.quickCheck}`, {
      mend: `${rebuild}   # keep the file, and rebuild it from the folder beside it`,
      essential: true,
    });
  }
  const sweeps = store.sweeps === null ? '' : `, ${store.sweeps} ${store.sweeps === 1 ? 'sweep' : 'sweeps'}`;
  const evidence = `${store.path}: ${size(store.bytes)}${sweeps}`;
  if (store.schema === 'newer') {
    return check(GROUP, id, title, 'failed', `${evidence}, written by a newer bench`, {
      mend: '# update bench',
      essential: true,
    });
  }
  if (store.walBytes > LONG_WAL_BYTES) {
    return check(GROUP, id, title, 'warning', `${evidence}; its log has ${size(store.walBytes)}`, {
      mend: `lsof ${store.path}   # who keeps it open?`,
    });
  }
  const older = store.schema === 'older' ? '; of an older bench, brought up to date when next used' : '';
  return check(GROUP, id, title, 'ok', `${evidence}${older}`, { essential: true });
}

function folderChecks(folder: FolderFacts, index: number): DoctorCheck[] {
  const { holds, path, freeBytes, isThere, isWritable, networkFileSystem } = folder;
  const id = `store.folder${index}`;
  const title = holds;
  if (!isThere) {
    return [check(GROUP, id, title, 'failed', `${path} is not there`, { mend: `mkdir -p ${path}`, essential: true })];
  }
  if (!isWritable) {
    return [
      check(GROUP, id, title, 'failed', `${path} may not be written`, {
        mend: `chmod u+w ${path}   # or another place: --db FILE`,
        essential: true,
      }),
    ];
  }
  const free = freeBytes === null ? '' : `, ${size(freeBytes)} free`;
  const evidence = `${path}${free}`;
  const network =
    networkFileSystem === null
      ? []
      : [
          check(GROUP, `${id}.network`, title, 'warning', `${path} is on ${networkFileSystem}`, {
            mend: 'export BENCH_DB=/a/local/disk/bench.sqlite   # SQLite loses data on network file systems',
          }),
        ];
  if (freeBytes !== null && freeBytes < WARN_BYTES) {
    const state = freeBytes < LEAST_BYTES ? 'failed' : 'warning';
    const mend = `df -h ${path}   # engines and artefacts grow: free space, or another place with --db FILE`;
    return [check(GROUP, id, title, state, evidence, { mend, essential: true }), ...network];
  }
  return [check(GROUP, id, title, 'ok', evidence, { essential: true }), ...network];
}

function size(bytes: number): string {
  if (bytes < 2 ** 20) return `${Math.ceil(bytes / 1024)} KiB`;
  return bytes < GIB ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
}
