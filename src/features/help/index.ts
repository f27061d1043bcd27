export { metricText } from './metric-texts.ts';
export { GENERAL_TOPICS, metricTopics } from './topic-pages.ts';
