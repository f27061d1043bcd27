export { fileName } from './target.ts';
