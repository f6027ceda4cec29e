import type { CommandFacts } from './command-facts.ts';

/** Page of a command in the language of man (roff, man macros): `hearth manual plan | man -l -`. */
export function manPage({ name, description, options }: CommandFacts, version: string): string {
  const items = options.map(({ flags, description: text, standard }) => {
    const end = standard === undefined ? '' : ` Default: ${standard}.`;
    return `.TP\n.B ${escaped(flags)}\n${escaped(`${text}${end}`)}`;
  });
  return `.TH HEARTH-${name.toUpperCase()} 1 "" "Hearth ${version}" "Hearth"
.SH NAME
hearth-${escaped(name)} \\- ${escaped(description)}
.SH SYNOPSIS
.B hearth ${escaped(name)}
[\\fIoptions\\fR]
.SH OPTIONS
${items.join('\n')}
`;
}

/** Text that roff prints as it is: backslashes, hyphens, and dots or quotes at the beginning of a line. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}
