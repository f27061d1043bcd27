// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { repro } from '../features/repro/repro.ts';
export { exportRun } from '../features/export/export.ts';
