import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { otherSystem } from '../../process/system.ts';
import { type Look, labelled, padEnd, textWidth, wrapWords } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { readMatrix } from '../plan/index.ts';
import type { DoctorOptions } from './command.ts';
import { gatherFacts } from './gather.ts';
import { measureReference } from './measure.ts';
import { judgeMachine, lackingOf } from './judge-machine.ts';
import type { DoctorCheck, DoctorOutput } from './output.ts';

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** `bench doctor`: checks that this machine can measure reliably. */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  if (options.filter !== undefined && (options.measure !== true || options.matrix === undefined)) {
    throw new UsageError('--filter chooses cells for --measure of --matrix FILE: name both');
  }
  const matrix = options.matrix === undefined ? null : readMatrix(options.matrix, io);
  const examined = { storePath: storePath(options.db, io), trtexec: options.trtexec, matrix };
  const facts = await gatherFacts(examined, PATIENCE, io);
  const found = judgeMachine(facts);
  const ready = lackingOf(found).length === 0;
  const health = ready && options.measure === true ? await measureReference(options, io) : null;
  const checks = health === null ? found : [...found, ...health.checks];
  const output: DoctorOutput = { schemaVersion: 1, ready, measured: health?.measured ?? null, checks };
  printResult(io, options, output, (shown, look) => doctorText(shown, facts.isReplay, look));
  return ready ? (health?.exitCode ?? EXIT_CODES.fine) : EXIT_CODES.environmentLacking;
}

type CheckState = DoctorCheck['state'];

/** Sign, meaning and style of each state. */
const STATES = {
  ok: ['✓', 'fine', 'good'],
  advice: ['○', 'could be steadier', 'accent'],
  warning: ['!', 'may distort results', 'warn'],
  failed: ['✗', 'does not work', 'bad'],
  absent: ['–', 'not found', 'dim'],
} as const satisfies Readonly<Record<CheckState, readonly [string, string, keyof Look['style']]>>;

/** @param isReplay recordings answer, so that no GPU is needed */
function doctorText({ checks }: DoctorOutput, isReplay: boolean, look: Look): string[] {
  const width = Math.max(...checks.map(({ title }) => textWidth(title)));
  const groups = Map.groupBy(checks, ({ group }) => group);
  const lines = summary(checks, isReplay, look);
  for (const [group, inside] of groups) {
    lines.push('', look.style.strong(group));
    lines.push(...inside.flatMap((check) => checkLines(check, width, look)));
  }
  return [...lines, '', ...wrapWords(legend(checks), look.columns).map(look.style.dim)];
}

function summary(checks: readonly DoctorCheck[], isReplay: boolean, { style, columns }: Look): string[] {
  const lacking = lackingOf(checks);
  const withState = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  if (lacking.length === 0) {
    const what = isReplay ? 'ready to replay recordings' : 'ready to measure';
    const rest = `${count(withState('warning'), 'warning')}, ${withState('advice')} of advice`;
    return wrapWords(`${what}: ${rest}`, columns).map(style.strong);
  }
  const groups = [...new Set(lacking.map(({ group }) => group))].join(', ');
  const lines = wrapWords(`not ready to measure: see ${groups}`, columns).map(style.bad);
  const isWithoutGpu = lacking.some(({ id }) => /^(?:trtexec|gpu)/.test(id));
  const other =
    'Without trtexec or a GPU bench works on recorded runs: `npm run quickstart` in its repository, or `bench run matrices/quickstart.yaml --replay night1`';
  return isWithoutGpu && otherSystem() === null ? [...lines, ...wrapWords(other, columns)] : lines;
}

function checkLines({ title, state, evidence, mend }: DoctorCheck, width: number, look: Look): string[] {
  const { style, columns } = look;
  const [sign, , inState] = STATES[state];
  const label = `${sign} ${padEnd(title, width)}  `;
  const [first = '', ...more] = labelled(label, printable(evidence), columns);
  const lines = [`${style[inState](label)}${first.slice(label.length)}`, ...more];
  if (mend === null || state === 'ok') return lines;
  const [command = '', remark = ''] = printable(mend).split(REMARK);
  const remarkLines = remark === '' ? [] : wrapWords(remark, columns - 4);
  if (command === '') {
    const [start = '', ...rest] = remarkLines;
    return [...lines, `  ${style.accent('→')} ${start}`, ...rest.map((line) => `    ${line}`)];
  }
  // Never truncate the command, so that it can be copied.
  return [...lines, `  ${style.accent(`→ ${command}`)}`, ...remarkLines.map((line) => style.dim(`    ${line}`))];
}

/** Matches the start of a shell comment. */
const REMARK = /(?:^|\s+)# /;

function legend(checks: readonly DoctorCheck[]): string {
  const shown = Object.entries(STATES).filter(([state]) => checks.some((check) => check.state === state));
  return shown.map(([, [sign, meaning]]) => `${sign} ${meaning}`).join(' · ');
}
