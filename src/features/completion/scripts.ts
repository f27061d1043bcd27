export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** `PROGRAM` is the command line of this installation, because `bench` may not be on the PATH. */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of bench for bash. In ~/.bashrc:  eval "$(bench completion bash)"
_bench_ask() {
  if type -P bench >/dev/null; then command bench completion "$@"; else PROGRAM completion "$@"; fi
}
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
  done < <(_bench_ask --complete bash -- "\${words[@]}" "$word" 2>/dev/null)
}
complete -o default -F _bench bench
`,
  zsh: `#compdef bench
# Completion of bench for zsh. In ~/.zshrc:  eval "$(bench completion zsh)"
# or as a file _bench in a folder of $fpath.
_bench_ask() {
  if whence -p bench >/dev/null; then command bench completion "$@"; else PROGRAM completion "$@"; fi
}
_bench() {
  local -a values shown
  local line
  while IFS= read -r line; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <(_bench_ask --complete zsh -- "\${(@Q)words[1,CURRENT]}" 2>/dev/null)
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
function __bench_ask
    if type -qP bench
        command bench completion $argv
    else
        PROGRAM completion $argv
    end
end
function __bench_complete
    set -l token (commandline -ct)
    set -l lines (__bench_ask --complete fish -- (commandline -opc) "$token" 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\\n' $lines
    else
        __fish_complete_path "$token"
    end
end
complete -c bench -f -a '(__bench_complete)'
`,
};
