// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { backup } from '../features/db/backup.ts';
export { info } from '../features/db/info.ts';
export { mergeStores } from '../features/db/merge.ts';
export { prune } from '../features/db/prune.ts';
export { verify } from '../features/db/verify.ts';
