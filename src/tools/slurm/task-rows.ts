export interface TaskRow {
  /** Such as `8_3`. */
  readonly task: string;
  /** In capitals, such as `RUNNING`. */
  readonly state: string;
  readonly reason: string | null;
  readonly node: string | null;
  /** Null if this source does not report it. */
  readonly exitCode: number | null;
  /** Signal number; null if none. */
  readonly signal: number | null;
  readonly restarts: number | null;
}

/** Format for `squeue -h -r -t all -o '%i|%A|%T|%r|%N'`. */
export const SQUEUE_FORMAT = '%i|%A|%T|%r|%N';

export function parseSqueue(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const [task = '', , state = '', reason = '', node = ''] = line.trim().split('|');
    return isTask(task) ? [{ ...UNSAID, task, state, reason: wordOrNull(reason), node: wordOrNull(node) }] : [];
  });
}

export const SACCT_FORMAT = 'jobid,jobidraw,state,exitcode,nodelist,start,end';

/** Parses `sacct -n -X -P`. The last line of a task is its last run. */
export function parseSacct(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const [task = '', , state = '', exit = '', node = ''] = line.trim().split('|');
    if (!isTask(task)) return [];
    return [{ ...UNSAID, task, state: state.split(' ')[0] ?? '', node: wordOrNull(node), ...exitOf(exit) }];
  });
}

/** Reads `scontrol show job ID -o`, which prints one line for each task that the controller still has. */
export function parseScontrolJobs(text: string): TaskRow[] {
  return text.split('\n').flatMap((line) => {
    const fields = new Map(
      [...line.matchAll(/(?<=^| )([^ =]*)=([^ ]*)/g)].map(([, name, value = '']) => [name, value]),
    );
    const [job, index] = [fields.get('ArrayJobId'), fields.get('ArrayTaskId')];
    const state = fields.get('JobState');
    const task = `${job}_${index}`;
    if (state === undefined || !isTask(task)) return [];
    const restarts = Number(fields.get('Restarts') ?? Number.NaN);
    return [
      {
        task,
        state,
        reason: wordOrNull(fields.get('Reason') ?? ''),
        node: wordOrNull(fields.get('NodeList') ?? ''),
        restarts: Number.isInteger(restarts) ? restarts : null,
        ...exitOf(fields.get('ExitCode') ?? ''),
      },
    ];
  });
}

const UNSAID = { reason: null, node: null, exitCode: null, signal: null, restarts: null };

function isTask(text: string): boolean {
  return /^\d+_\d+$/.test(text);
}

/** The state without its details: `CANCELLED` for `CANCELLED by 0`. */
/** Reads an exit field: `42:0` is exit code 42, `0:9` is signal 9. */
function exitOf(text: string): Pick<TaskRow, 'exitCode' | 'signal'> {
  const [, code, signal] = /^(\d+):(\d+)$/.exec(text) ?? [];
  return {
    exitCode: code === undefined ? null : Number(code),
    signal: signal === undefined || signal === '0' ? null : Number(signal),
  };
}

function wordOrNull(text: string): string | null {
  return text === '' || text === 'None' || text === '(null)' || text === 'None assigned' ? null : text;
}
