import { EXPLAINED_NUMBERS, metricText } from './metric-texts.ts';

export interface HelpTopic {
  readonly name: string;
  readonly description: string;
}

/** Beside the commands. */
export const GENERAL_TOPICS: readonly HelpTopic[] = [
  { name: 'words', description: 'what bench calls things' },
  { name: 'metrics', description: 'every number, where it comes from and when it deceives' },
  { name: 'matrix', description: 'all that may stand in a matrix file' },
  { name: 'exit-codes', description: 'what the exit code says' },
];

export function metricTopics(): HelpTopic[] {
  return EXPLAINED_NUMBERS.map((name) => ({ name, description: metricText(name).label }));
}
