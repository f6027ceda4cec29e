import { type Command, Help } from 'commander';

/** Columns for descriptions of options below which they aren't wrapped: a terminal of 50 leaves about so many. */
const NARROWEST = 16;

/** How help looks: it wraps on narrow terminals too, and an option that may be repeated has no empty list as its default. */
export function formHelp(command: Command): void {
  const usual = new Help();
  command.configureHelp({
    minWidthToWrap: NARROWEST,
    optionDescription: (option) => usual.optionDescription(option).replace(/ ?\(default: \[\]\)$/, ''),
  });
}
