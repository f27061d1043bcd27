// Loaded together, when one of them is called.
export { attach } from '../features/attach/attach.ts';
export { explainRun } from '../features/explain/explain-run.ts';
export { profile } from '../features/profile/profile.ts';
