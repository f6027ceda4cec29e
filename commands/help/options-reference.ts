import type { CommandFacts } from './command-facts.ts';

/** Markdown of all commands and options, for docs/reference/options.md. */
export function optionsReference(commands: readonly CommandFacts[]): string {
  const sections = commands.map(({ name, description, options }) => {
    const lines = options.map(({ flags, description: text, standard }) => {
      const end = standard === undefined ? '' : ` Default: \`${standard}\`.`;
      return `- \`${flags}\`: ${plain(text)}${end}`;
    });
    return `## hearth ${name}\n\n${plain(description)}\n\n${lines.join('\n')}\n`;
  });
  return `# Options\n\nEvery command and its options, as \`hearth COMMAND --help\` prints them. \`npm run renew:options\` writes this page.\n\n${sections.join('\n')}`;
}

/** Text without characters that Markdown would read. */
function plain(text: string): string {
  return text.replaceAll(/[*_<>]/g, '\\$&');
}
