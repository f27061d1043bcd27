export { OUTPUT_NAMES } from './json-schema.ts';
