import { type Command, Help } from 'commander';
import { terminalWidth } from './table.ts';

/** Columns for descriptions of options below which they aren't wrapped: a terminal of 50 leaves about this many. */
const NARROWEST = 16;

/** Columns of help where the terminal's width is unknown. */
const USUAL = 80;

/** How help looks: it wraps on narrow terminals and at `COLUMNS`, and an option that may be repeated has no empty list as its default. */
export function formHelp(command: Command): void {
  const usual = new Help();
  command.configureHelp({
    helpWidth: terminalWidth(USUAL),
    minWidthToWrap: NARROWEST,
    optionDescription: (option) => usual.optionDescription(option).replace(/ ?\(default: \[\]\)$/, ''),
  });
}
