export { restoreArtefacts } from './import.ts';
