import { join } from 'node:path';

import { Option } from '@commander-js/extra-typings';
import { defineCommand } from '../../cli/define-command.ts';
import { packageFolder } from '../../files/folders.ts';

export const completionCommand = defineCommand({
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  examples: [
    'eval "$(bench completion bash)"            # in ~/.bashrc',
    'eval "$(bench completion zsh)"             # in ~/.zshrc',
    'bench completion fish | source             # in ~/.config/fish/config.fish',
  ],
  isPlain: true,
  define: (command) =>
    command
      .argument('<shell>', 'bash, zsh, fish')
      .argument('[words...]', 'used by the completion scripts')
      .usage('<shell>')
      .addOption(new Option('--complete', 'candidates at the cursor').hideHelp()),
  run: async ([shell, words], { complete }, io, program) => {
    const completion = await import('./completion.ts');
    if (complete === true) return completion.complete(program, words, io);
    return completion.completion(shell, [process.execPath, join(packageFolder(), 'bin', 'bench.js')], io);
  },
});
