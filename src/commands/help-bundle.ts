// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { complete, completion } from '../features/completion/completion.ts';
export { help } from '../features/help/help.ts';
