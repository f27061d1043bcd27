import { type CommandUnknownOpts as Program, Help, type Option } from '@commander-js/extra-typings';

import { commandsOf } from '../../cli/define-command.ts';
import type { Io } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { ensure, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { allCells } from '../../store/cells.ts';
import { peekIntoStore } from '../../store/file/open.ts';
import { cellLabel } from '../../records/cell.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { isOneOf } from '../../text/unknown-values.ts';

/** @param program command line of this bench */
export function completion(shell: string, program: readonly string[], io: Io): ExitCode {
  const there = `no completion for ${printable(shell)} (there is ${SHELLS.join(', ')})`;
  ensure(isOneOf(SHELLS, shell), `${there}${didYouMean(shell, SHELLS)}`);
  io.out(SCRIPTS[shell].replaceAll('PROGRAM', () => shellLine(program)));
  return EXIT_CODES.fine;
}

type Candidate = Readonly<Record<'value' | 'meaning', string>>;

/**
 * `bench completion --complete SHELL -- bench WORD...`: the last word is the one at the cursor. Prints the possible
 * words, one per line with its meaning. If none is known, the shell offers files.
 */
export function complete(program: Program, words: readonly string[], io: Io): ExitCode {
  const found = candidates(program, words.slice(1, -1), words.at(-1) ?? '', io);
  // Names that are unsafe to print are omitted; their keys remain.
  const safe = found.filter(({ value }) => value !== '' && printable(value) === value);
  const lines = new Map(safe.map(({ meaning, value }) => [value, `${value}\t${printable(meaning)}\n`]));
  io.out([...lines.values()].join(''));
  return EXIT_CODES.fine;
}

function candidates(program: Program, words: readonly string[], current: string, io: Io): Candidate[] {
  if (words.includes('--')) return [];
  let command = program;
  for (const word of words) command = commandsOf(command).find((each) => each.name() === word) ?? command;
  const stored = (): Candidate[] => storedCells(io);
  const option = optionsOf(command).find((each) => optionName(each) === words.at(-1));
  if (option !== undefined && (option.required || (option.optional && !current.startsWith('-')))) {
    const choices = option.argChoices?.map((value) => ({ value, meaning: '' }));
    const known = choices ?? (CELLS.has(optionName(option)) ? stored() : []);
    if (option.required || known.length > 0) return known;
  }
  if (current.startsWith('-')) {
    return optionsOf(command).map((each) => ({ value: optionName(each), meaning: each.description }));
  }
  const names = command.registeredArguments.map((argument) => argument.name());
  return [
    ...namesOf(command),
    ...(names.includes('topic') ? namesOf(program) : []),
    ...(names.some((name) => CELLS.has(name)) ? stored() : []),
  ];
}

/** Arguments and options that take a cell. */
const CELLS = new Set(['cell', 'cells', 'what', '--cell', '--filter']);

function namesOf(command: Program): Candidate[] {
  return commandsOf(command).map((each) => ({ value: each.name(), meaning: each.summary() }));
}

const MOST = 200;

function storedCells(io: Io): Candidate[] {
  const known = peekIntoStore(storePath(undefined, io), allCells) ?? [];
  const models = [...new Set(known.map(({ model }) => model))];
  return [
    ...models.map((value) => ({ value, meaning: 'all cells of the model' })),
    ...known.slice(0, MOST).map((cell) => ({ value: cellLabel(cell), meaning: cell.key.slice(0, 8) })),
  ];
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `PROGRAM` is the command line of this installation. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# Completion of bench for bash. In ~/.bashrc:  eval "$(bench completion bash)"
_bench() {
  local value word words=()
  COMPREPLY=()
  # Nothing can be put into a quote that is open, or behind a colon, at which bash splits.
  [[ "\${COMP_WORDS[COMP_CWORD]}" == [\\'\\":]* || "\${COMP_WORDS[COMP_CWORD-1]}" == : ]] && return
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD}"; do
    [[ "$word" == = ]] || words+=("\${word//\\\\/}")
  done
  word=\${COMP_WORDS[COMP_CWORD]#=}
  word=\${word//\\\\/}
  while IFS=$'\\t' read -r value _; do
    [[ "$value" != *:* && "$value" == "$word"* ]] && COMPREPLY+=("$(printf %q "$value")")
  done < <(PROGRAM completion --complete bash -- "\${words[@]}" "$word" 2>/dev/null)
}
complete -o default -F _bench bench
`,
  zsh: `#compdef bench
# Completion of bench for zsh. In ~/.zshrc:  eval "$(bench completion zsh)"
# or as a file _bench in a folder of $fpath.
_bench() {
  local -a values shown
  local line
  while IFS= read -r line; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <(PROGRAM completion --complete zsh -- "\${(@Q)words[1,CURRENT]}" 2>/dev/null)
  if (( $#values )); then
    compadd -l -d shown -a values
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" = _bench ]]; then
  _bench "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _bench bench
fi
`,
  fish: `# Completion of bench for fish. In ~/.config/fish/config.fish:  bench completion fish | source
# or as ~/.config/fish/completions/bench.fish
function __bench_complete
    set -l token (commandline -ct)
    set -l lines (PROGRAM completion --complete fish -- (commandline -opc) "$token" 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\\n' $lines
    else
        __fish_complete_path "$token"
    end
end
complete -c bench -f -a '(__bench_complete)'
`,
};

function optionsOf(command: Program): Option[] {
  return new Help().visibleOptions(command);
}

function optionName({ flags, long, short }: Option): string {
  return long ?? short ?? flags;
}
