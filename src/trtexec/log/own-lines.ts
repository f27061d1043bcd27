import type { LogStream } from '../../records/outcome.ts';
import { emptyFailures, readFailureLine } from './failure-rules.ts';
import { LogLineReader, type LogMessage } from './log-lines.ts';
import { parseMarker } from './marker.ts';

/**
 * The messages of trtexec's logger but verbose ones, its markers, and what is known as a cause of failure. What other
 * programs print between them is none of these.
 */
export async function ownLines(chunks: AsyncIterable<Buffer>, stream: LogStream) {
  const texts: string[] = [];
  const reader = new LogLineReader(stream, (message) => {
    if (isOwn(message)) texts.push(lineOf(message));
  });
  for await (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { texts, others: Math.max(0, reader.lineCount - texts.length) };
}

function isOwn(message: LogMessage): boolean {
  if (message.severity !== null || parseMarker(message.text) !== null) return true;
  const failures = emptyFailures();
  readFailureLine(failures, message, () => true);
  return failures.found.length > 0;
}

function lineOf({ fromLibrary, severity, text, time }: LogMessage): string {
  const prefix = [...(time === null ? [] : [`[${time}]`]), ...(severity === null ? [] : [`[${severity}]`])];
  return [...prefix, ...(fromLibrary ? ['[TRT]'] : []), text].join(' ');
}
