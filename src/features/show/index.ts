export { show } from './show.ts';
