// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { backup } from '../commands/db/backup.ts';
export { info } from '../commands/db/info.ts';
export { mergeStores } from '../commands/db/merge.ts';
export { prune } from '../commands/db/prune.ts';
export { verify } from '../commands/db/verify.ts';
