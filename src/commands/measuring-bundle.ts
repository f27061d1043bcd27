// Loaded together, when one of them is called: as files of their own they would take longer to load than to run.
export { ab } from '../features/ab/ab.ts';
export { run } from '../features/run/run.ts';
export { bisect } from '../features/bisect/bisect.ts';
export { plan } from '../features/plan/plan.ts';
export { importRuns } from '../features/import/import.ts';
export { parse } from '../features/parse/parse.ts';
export { doctor } from '../features/doctor/doctor.ts';
export { detect } from '../features/detect/detect.ts';
export { schema } from '../features/schema/schema.ts';
export { show } from '../features/show/show.ts';
export { accuracy } from '../features/accuracy/accuracy.ts';
export { layers } from '../features/layers/layers.ts';
export { why } from '../features/why/why.ts';
export { collectEngines, listEngines, pinEngines, removeEngines, verifyEngines } from '../features/engines/engines.ts';
export { quantize } from '../features/quantize/quantize.ts';
export { makeInputs } from '../features/make-inputs/make-inputs.ts';
export { init } from '../features/init/init.ts';
export { makeDataset } from '../features/make-dataset/make-dataset.ts';
