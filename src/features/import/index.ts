export { importRunFolders, restoreArtefacts } from './import.ts';
