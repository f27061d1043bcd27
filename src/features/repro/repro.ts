import { type Io, printResult } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { ensure, UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { machineLines } from '../../terminal/machine-text.ts';
import { printable } from '../../text/printable.ts';
import { defaultOf, envText, scriptQuote, shellLine, shellQuote } from '../../text/shell-quote.ts';
import { variantNotes } from '../../records/conversion.ts';
import type { ReproOptions } from './command.ts';
import { gatherReproduction, localWords } from './gather.ts';
import type { ReproOutput } from './output.ts';
import { namedRun } from '../../selection/cell-points.ts';

export async function reproduce(name: string, options: ReproOptions, io: Io): Promise<ExitCode> {
  const { json, script } = options;
  const isPlain = [options.base, options.reduce, options.model].every((each) => each === undefined);
  ensure(isPlain, '--base, --reduce and --model need --bundle FILE.zip');
  const file = script === undefined || script === true || script === '-' ? null : script;
  const isBoth = json === true && script !== undefined && file === null;
  ensure(!isBoth, 'only one thing can go to standard output: name a file, --script repro.sh');
  return withStore(options, io, async (store) => {
    const found = await gatherReproduction(store, namedRun(store.db, name), io.cwd);
    const text = script === undefined ? '' : reproScript(found);
    if (file !== null) {
      const hidden = options.redact === true ? redactionFor(io, options, text).text(text) : text;
      await writeOutput(file, [hidden], io, 0o755);
      if (json !== true) io.err(`wrote ${printable(file)}\n`);
    } else io.out(text);
    if (json === true || script === undefined) printResult(io, options, { ...found, script: file }, reproText);
    return EXIT_CODES.fine;
  });
}

export function reproText(repro: ReproOutput, look: Look): string[] {
  const { build, clockPolicy, commandLine, conversion, git, harness, run, runId, start, startedAt } = repro;
  const { columns, style } = look;
  const by = `${repro.role} run${harness === null ? '' : ` by ${harness}`}`;
  const fields: readonly (readonly [name: string, ...parts: readonly (string | null | undefined | false)[]])[] = [
    ['what', by, repro.provenance, startedAt],
    ['commit', git.commit, git.branch, git.dirty === true && 'uncommitted changes'],
    ['bench', repro.toolVersion],
    ['where', start?.cwd],
    ['model', ...fileText(repro.model)],
    ['trtexec', ...fileText(repro.trtexec)],
    ['engine', ...fileText(repro.engine)],
    ...repro.inputs.map((input) => ['input', ...fileText(input)] as const),
    ['clocks', clockPolicy],
    ['env', envText({ ...repro.env, ...start?.env, ...repro.axisEnv }).trimEnd()],
    ['', repro.withheld > 0 && `${repro.withheld} variables left out, as they may hold secrets`],
  ];
  const made = ['convert', ...(conversion?.record ? variantNotes(conversion.record) : [])].map(printable).join(': ');
  const commands: readonly (readonly [title: string, line: string | null])[] = [
    [made, conversion && shellLine(conversion.argv ?? [])],
    [build?.runId ? `build (run ${build.runId.slice(0, 8)})` : 'build', build && shellLine(build.localArgv)],
    ['run', run && shellLine(run.localArgv)],
    ['run, as its log says: arguments joined without quotes', commandLine && printable(commandLine)],
  ];
  return [
    ...wrapHanging(`${printable(repro.label)} · run ${runId.slice(0, 8)}`, columns, 2).map(style.strong),
    ...fields.flatMap(([name, ...parts]) => {
      const text = parts.filter(Boolean).join(', ');
      return text === '' ? [] : wrapHanging(`  ${name.padEnd(8)} ${printable(text)}`, columns, 11);
    }),
    ...machineLines(repro.environment, null, look),
    ...commands.flatMap(([title, line]) => (line === null ? [] : ['', style.strong(title), line])),
    '',
    ...repro.unknown.flatMap((text) => wrapHanging(`not known: ${printable(text)}`, columns, 2)),
  ];
}

function fileText(file: { readonly path?: string; readonly sha256: string | null } | null) {
  return [file?.path && shellQuote(file.path), file?.sha256 && `sha256 ${file.sha256}`];
}

/**
 * A POSIX shell script that builds and runs with trtexec alone. It quotes untrusted values, and a comment holds one
 * line of printable text.
 * @throws UsageError if no process of trtexec is known that could be started again
 */
export function reproScript(repro: ReproOutput): string {
  const { build, commandLine, harness, run, runId } = repro;
  const runs = 'measured it, and a script starts only trtexec (`bench repro` prints how it was started)';
  const refusals = [
    [commandLine !== null, 'its log joins the arguments without quotes'],
    [build === null && run === null, 'its command line is not known'],
    [harness !== null, `${printable(harness ?? '')} ${runs}`],
  ] as const;
  const [, why] = refusals.find(([isTrue]) => isTrue) ?? [];
  if (why !== undefined) throw new UsageError(`run ${runId.slice(0, 8)}: ${why}, so that no script can repeat it`);
  const sections = trtexecSections(repro).filter((lines) => lines.length > 0);
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

const HELPERS = [
  `set -eu

say() { printf 'repro: %s\\n' "$1" >&2; }
die() {
  say "$2"
  exit "$1"
}
sha256() { sha256sum | cut -c 1-64; }
has() { [ "$(sha256 <"$1")" = "$2" ]; }`,
];
const OTHER_ENGINE = `die 2 'not the engine that was measured (other SHA-256); ANY_MODEL=1 accepts it'`;
const ANY_MODEL = '[ "${ANY_MODEL:-0}" = 1 ]';

function trtexecSections(repro: ReproOutput): string[][] {
  const { build, engine, inputs, role, run } = repro;
  const isBuild = role === 'build' || build === null;
  const unlessSkipped = (lines: readonly string[]): string[] =>
    isBuild || lines.length === 0
      ? [...lines]
      : ['if [ "${SKIP_BUILD:-0}" != 1 ]; then', ...lines.map((line) => `  ${line}`), 'fi'];
  // Environment variables may name other files.
  const words = [build, run].flatMap((command) => localWords(command?.argv ?? [], repro));
  const named = words.flatMap(({ text, variable }) => (variable === null ? [] : [[variable, text] as const]));
  const names = new Map([['TRTEXEC', 'trtexec'], ...named]);
  names.delete('VARIANT');
  return [
    [
      ...titleLines(repro),
      '# It needs trtexec and leaves its files in the current folder. Variables that it reads:',
      '#   TRTEXEC, MODEL, VARIANT, ENGINE, TIMING_CACHE   other programs and files',
      '#   ANY_MODEL=1     accept a model with another hash',
      '#   SKIP_BUILD=1    load ENGINE without building it',
    ],
    HELPERS,
    [...names].map(([variable, name]) => defaultOf(variable, name)),
    [`command -v "$TRTEXEC" >/dev/null 2>&1 || die 3 'trtexec not found: set TRTEXEC=/path/to/trtexec'`],
    inputs.flatMap(({ path, sha256 }) => {
      const name = printable(path);
      const other = `die 2 ${scriptQuote(`${name}: not the input that was measured (other SHA-256)`)}`;
      return [needed(scriptQuote(path), `${name}: input not found`), ...orElse(scriptQuote(path), sha256, other)];
    }),
    unlessSkipped(modelLines(repro)),
    environmentLines(repro.env),
    unlessSkipped(commandLines(build, repro)),
    engine.isGiven && engine.sha256 !== null
      ? [
          needed('"$ENGINE"', 'engine not found: set ENGINE=/path/to/engine.plan'),
          ...orElse('"$ENGINE"', engine.sha256, `${ANY_MODEL} || ${OTHER_ENGINE}`),
        ]
      : [],
    run === null ? [] : [...settingLines(repro.axisEnv), ...commandLines(run, repro)],
  ];
}

function titleLines({ git, label, provenance, role, runId, startedAt, toolVersion }: ReproOutput): string[] {
  const commit =
    git.commit === null ? 'no commit known' : `commit ${git.commit}${git.dirty ? ', with uncommitted changes' : ''}`;
  const run = `${role} run ${runId}, ${provenance}, ${startedAt ?? 'at an unknown time'}`;
  const lines = [label, run, `${commit}; written by bench ${toolVersion}`];
  return ['#!/bin/sh', ...lines.map((line) => `# ${printable(line)}`), '#'];
}

/** @param file quoted for the shell */
function needed(file: string, refusal: string): string {
  return `[ -r ${file} ] || die 2 ${scriptQuote(refusal)}`;
}

/** Runs an action if a file has another hash than the known one. @param file quoted for the shell */
function orElse(file: string, sha256: string | null | undefined, action: string): string[] {
  return sha256 ? [`has ${file} ${scriptQuote(sha256)} || ${action}`] : [];
}

/** The lines of the model. The script does not convert a model: it asks for the result and says how it was made. */
function modelLines({ build, conversion, model, run }: ReproOutput): string[] {
  if (conversion !== null) {
    const made = conversion.argv === null ? '' : ` (made by: ${printable(shellLine(conversion.argv))})`;
    const named = `the model was converted: name the result, VARIANT=/path/to/variant.onnx${made}`;
    return [needed('"${VARIANT-}"', named)];
  }
  const words = [...(build?.argv ?? []), ...(run?.argv ?? [])];
  if (model === null || !words.some((word) => /^--(?:onnx|refitFromOnnx)=/.test(word))) return [];
  const readable = needed('"$MODEL"', 'model not found: set MODEL=/path/to/model.onnx');
  const { external, sha256 } = model;
  if (sha256 === null) return [readable, "say 'note: the hash of the model that was measured is not known'"];
  // The hash of a model in bench: the file, then each name between zero bytes with its data.
  const externalData = (external ?? []).flatMap((name) => [
    `  printf '\\0%s\\0' ${scriptQuote(name)}`,
    `  cat <"$(dirname -- "$MODEL")"/${scriptQuote(name)}`,
  ]);
  const hint = external === null ? ' (if it has external data, its hash cannot be checked here)' : '';
  return [
    readable,
    'model_sha256=$({',
    '  cat <"$MODEL"',
    ...externalData,
    '} | sha256)',
    `[ "$model_sha256" = ${sha256} ] || ${ANY_MODEL} || die 2 "$MODEL is not the model that was measured: SHA-256 $model_sha256 instead of ${sha256}${hint}; ANY_MODEL=1 accepts it"`,
  ];
}

/** The environment takes precedence over stored values. */
function environmentLines(env: ReproOutput['env']): string[] {
  return Object.entries(env).flatMap(([name, value]) => [
    `[ -n "\${${name}+set}" ] || ${name}=${scriptQuote(value)}`,
    `export ${name}`,
  ]);
}

/** Values of the matrix take precedence over the environment. */
function settingLines(variables: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    value === null ? [`unset ${name}`] : [`${name}=${scriptQuote(value)}`, `export ${name}`],
  );
}

function commandLines(command: ReproOutput['run'], repro: ReproOutput): string[] {
  const words = localWords(command?.argv ?? [], repro).map(({ head, text, variable }) =>
    variable === null ? scriptQuote(head + text) : `${head === '' ? '' : scriptQuote(head)}"$${variable}"`,
  );
  return words.length === 0 ? [] : [words.join(' \\\n  ')];
}
