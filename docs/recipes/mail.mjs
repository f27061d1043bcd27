#!/usr/bin/env node
// Mails what is new, through sendmail or msmtp:
//   gate: { notify: [node, recipes/mail.mjs, ops@example.org] }
// $SENDMAIL names another program than sendmail.
import { spawnSync } from 'node:child_process';

import { messageOf, readCheck } from './message.mjs';

const recipients = process.argv.slice(2);
const { subject, lines } = messageOf(await readCheck());
const mail = [
  `To: ${recipients.join(', ')}`,
  `Subject: ${Buffer.from(subject).length === subject.length ? subject : encoded(subject)}`,
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  ...lines,
  '',
].join('\n');
const { error, status } = spawnSync(process.env.SENDMAIL ?? 'sendmail', ['-i', '--', ...recipients], {
  input: mail,
  stdio: ['pipe', 'inherit', 'inherit'],
});
if (error !== undefined) console.error(error.message);
process.exitCode = status ?? 1;

/** RFC 2047 */
function encoded(text) {
  return `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
}
