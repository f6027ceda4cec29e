import type { CommandFacts, OptionFacts } from './command-facts.ts';

/** Shells that have a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Values whose completion is a file. */
const FILES = new Set(['file', 'files', 'path', 'folder', 'dir']);

/** Script that completes commands, their options and files, for the shell to read at its start. */
export function completionScript(shell: Shell, commands: readonly CommandFacts[]): string {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      return zsh(commands);
    case 'fish':
      return fish(commands);
  }
}

function bash(commands: readonly CommandFacts[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words="${options.map(({ long }) => long).join(' ')}" ;;`,
  );
  return `_hearth() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _hearth hearth
`;
}

function zsh(commands: readonly CommandFacts[]): string {
  const names = commands.map(({ name, description }) => `    ${quoted(`${name}:${firstSentence(description)}`)}`);
  const cases = commands.map(({ name, options }) => {
    const specs = options.map((option) => `        ${quoted(zshOption(option))}`);
    return `    ${name})\n      _arguments \\\n${specs.join(' \\\n')}\n      ;;`;
  });
  return `#compdef hearth
_hearth() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _hearth hearth
`;
}

function zshOption({ long, value, description }: OptionFacts): string {
  const text = description.replaceAll(/[[\]:]/g, ' ');
  if (value === undefined) return `${long}[${text}]`;
  return `${long}=[${text}]:${value.replaceAll(':', ' ')}:${FILES.has(value) ? '_files' : ''}`;
}

function fish(commands: readonly CommandFacts[]): string {
  const lines = commands.flatMap(({ name, description, options }) => [
    `complete -c hearth -n __fish_use_subcommand -f -a ${name} -d ${quoted(firstSentence(description))}`,
    ...options.map(
      ({ long, value, description: text }) =>
        `complete -c hearth -n '__fish_seen_subcommand_from ${name}' -l ${long.replace(/^--/, '')} -d ${quoted(text)}${value === undefined ? '' : ' -r'}`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}

function firstSentence(text: string): string {
  return (/^.*?[.:](?= |$)/.exec(text)?.[0] ?? text).replace(/[.:]$/, '');
}

/** A word in single quotes, as bash, zsh and fish read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
