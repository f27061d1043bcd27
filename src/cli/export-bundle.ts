// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { repro } from '../commands/repro.ts';
export { exportRun } from '../commands/export.ts';
