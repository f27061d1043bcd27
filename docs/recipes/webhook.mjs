#!/usr/bin/env node
// Posts what is new to a chat that takes {"text": "..."}: Slack, Mattermost, Rocket.Chat, Google Chat, Teams workflows.
//   gate: { notify: [node, recipes/webhook.mjs] }
// The address is a secret: it comes from $BENCH_WEBHOOK_URL.
import { messageOf, readCheck } from './message.mjs';

const { subject, lines } = messageOf(await readCheck());
// Slack and Mattermost read <...> as links and mentions.
const text = [`*${subject}*`, ...lines]
  .join('\n')
  .replaceAll('&', '&amp;')
  .replaceAll('<', '&lt;')
  .replaceAll('>', '&gt;');
const response = await fetch(process.env.BENCH_WEBHOOK_URL ?? fail('set BENCH_WEBHOOK_URL'), {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ text }),
  signal: AbortSignal.timeout(20_000),
}).catch((error) => fail(`the chat does not answer: ${error.cause?.code ?? error.message}`));
if (!response.ok) fail(`the chat answered ${response.status}`);

function fail(problem) {
  console.error(problem);
  process.exit(1);
}
