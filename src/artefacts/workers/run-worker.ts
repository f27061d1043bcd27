/** Runs in a thread of its own: see `RunWorkers`. */
import { parentPort } from 'node:worker_threads';

import { answerOf, type Answer, type Task } from './messages.ts';
import { workHere } from './run-work.ts';

const work = workHere(new AbortController().signal);

async function answerTo(task: Task): Promise<Answer> {
  if (task.kind === 'read') return answerOf(await work.read(task.source, task.standalone));
  await work.keep(task.target, task.files, task.manifest);
  return { kind: 'kept' };
}

parentPort?.on('message', ({ id, ...task }: Task & { readonly id: number }) => {
  answerTo(task).then(
    (answer) => parentPort?.postMessage({ ...answer, id }, []),
    () => parentPort?.postMessage({ kind: 'failed', id }, []),
  );
});
