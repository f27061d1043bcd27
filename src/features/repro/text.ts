import { printable } from '../../text/printable.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Look } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { shellLine, shellQuote } from '../../text/shell-quote.ts';
import { convertedWords } from '../../variants/conversion.ts';
import type { ReproOutput } from './output.ts';
import { clockBounds } from './script.ts';

export function reproText(repro: ReproOutput, look: Look): string[] {
  const { build, commandLine, environment, label, repeat, run, runId } = repro;
  const { columns, style } = look;
  return [
    ...wrapHanging(`${printable(label)} · run ${runId.slice(0, 8)} #${repeat}`, columns, 2).map(style.strong),
    ...fields(repro, look),
    ...machineLines(environment, null, look),
    ...field('clocks', clockText(repro), look),
    ...variableLines(repro, look),
    ...conversionLines(repro),
    ...(build === null ? [] : ['', style.strong(buildTitle(repro)), shellLine(build.localArgv)]),
    ...(run === null ? [] : ['', style.strong('run'), shellLine(run.localArgv)]),
    ...(commandLine === null
      ? []
      : ['', style.strong('run, as its log says: arguments joined without quotes'), printable(commandLine)]),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
    ...repro.notes.flatMap((text) => wrapHanging(`note: ${printable(text)}`, columns, 2)),
  ];
}

function buildTitle({ build }: ReproOutput): string {
  const runId = build?.runId ?? null;
  return runId === null ? 'build' : `build (run ${runId.slice(0, 8)})`;
}

const INDENT = 11;

function field(name: string, text: string, { columns }: Look): string[] {
  if (text === '') return [];
  return wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, INDENT);
}

function fields(repro: ReproOutput, look: Look): string[] {
  const { engine, git, harness, inputs, model, provenance, role, source, startedAt, trtexec } = repro;
  const whose = source === 'recorder' ? ', the command lines are those of its recorder' : '';
  const when = startedAt === null ? '' : `, ${startedAt}`;
  const commit =
    git.commit === null
      ? ''
      : `${git.commit}${git.branch === null ? '' : ` (${git.branch})`}${git.dirty === true ? ', not clean' : ''}`;
  return [
    ...field('what', `${role} run${harness === null ? '' : ` by ${harness}`}, ${provenance}${whose}${when}`, look),
    ...field('commit', commit, look),
    ...field('bench', repro.toolVersion, look),
    ...field('where', repro.start?.cwd ?? '', look),
    ...hashField('model', model?.path ?? null, model?.sha256 ?? null, look),
    ...hashField('trtexec', trtexec?.path ?? null, trtexec?.sha256 ?? null, look),
    ...hashField('engine', engine.cachedPath, engine.sha256, look),
    ...hashField('timing', null, repro.timingCacheSha256, look),
    ...inputs.flatMap(({ path, sha256 }) => hashField('input', path, sha256, look)),
  ];
}

function hashField(name: string, path: string | null, sha256: string | null, look: Look): string[] {
  const parts = [path === null ? '' : shellQuote(path), sha256 === null ? '' : `sha256 ${sha256}`];
  return field(name, parts.filter((part) => part !== '').join(', '), look);
}

function clockText({ clockPolicy }: ReproOutput): string {
  if (clockPolicy === null) return '';
  const lock = lockOf(clockPolicy);
  if (lock === null) return `${clockPolicy}: nothing to set`;
  const bounds = clockBounds(lock);
  if (bounds === null) return lock;
  const clocks = bounds === 'tdp,tdp' ? 'base' : (bounds.split(',')[0] ?? '');
  return `${lock}: sudo nvidia-smi -i 0 -lgc ${bounds}, and -rgc behind it (bench run --lock-clocks ${clocks})`;
}

function variableLines({ axisEnv, env, start, withheld }: ReproOutput, look: Look): string[] {
  const set = Object.entries({ ...env, ...start?.env, ...axisEnv }).map(([name, value]) =>
    value === null ? `${name} (taken away)` : `${name}=${shellQuote(value)}`,
  );
  return [
    ...field('env', set.join(' '), look),
    ...field('', withheld === 0 ? '' : `${withheld} more left out, as they may hold secrets`, look),
  ];
}

function conversionLines({ conversion }: ReproOutput): string[] {
  if (conversion === null) return [];
  const { argv, record } = conversion;
  const version = record?.packages['nvidia-modelopt'] ?? null;
  const made = record === null ? '' : `: ${convertedWords(record.by, record.converted)}`;
  const title = `convert, with ModelOpt ${version === null ? 'of unknown version' : printable(version)}${made}`;
  const command = argv === null ? [] : [shellLine(argv)];
  return ['', title, ...command];
}
