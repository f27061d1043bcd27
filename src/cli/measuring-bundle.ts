// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { run } from '../commands/run.ts';
export { bisect } from '../commands/bisect.ts';
export { plan } from '../commands/plan.ts';
export { importRuns } from '../commands/import.ts';
export { parse } from '../commands/parse.ts';
export { doctor } from '../commands/doctor.ts';
export { detect } from '../commands/detect.ts';
export { schema } from '../commands/schema.ts';
export { show } from '../commands/show.ts';
export { accuracy } from '../commands/accuracy.ts';
export { layers } from '../commands/layers.ts';
export { why } from '../commands/why.ts';
export {
  collectEngines,
  listEngines,
  pinEngines,
  removeEngines,
  verifyEngines,
} from '../commands/engines.ts';
export { quantize } from '../commands/quantize.ts';
export { makeInputs } from '../commands/make-inputs.ts';
export { init } from '../commands/init.ts';
export { makeDataset } from '../commands/make-dataset.ts';
