export { shownName } from './text.ts';
