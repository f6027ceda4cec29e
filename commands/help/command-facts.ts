import type { Command, Option } from 'commander';

/** A command as help, completions, man pages and the reference of options show it. */
export interface CommandFacts {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionFacts[];
}

export interface OptionFacts {
  /** All spellings with the value's name, e.g. `--model <file>`. */
  readonly flags: string;
  /** The long spelling, e.g. `--model`. */
  readonly long: string;
  /** The value's name, e.g. `file`; `undefined` for a flag. */
  readonly value?: string;
  readonly description: string;
  /** The default as help prints it. */
  readonly standard?: string;
}

/** Facts of a command in the order of its help. */
export function factsOf(command: Command): CommandFacts {
  const visible = command.createHelp().visibleOptions(command);
  return { name: command.name(), description: command.description(), options: visible.map(optionFacts) };
}

function optionFacts(option: Option): OptionFacts {
  const value = /[<[]([^\]>]+)[\]>]/.exec(option.flags)?.[1];
  const { defaultValue } = option;
  const isShown = defaultValue !== undefined && !(Array.isArray(defaultValue) && defaultValue.length === 0);
  return {
    flags: option.flags,
    long: option.long ?? option.flags,
    ...(value !== undefined && { value }),
    description: option.description,
    ...(isShown && value !== undefined && { standard: String(defaultValue) }),
  };
}
