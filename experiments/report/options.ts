/** Command-line options, each described once: its syntax, its meaning, and how its text is parsed. */

import { type Command, Option as CommanderOption } from 'commander';
import { readChoice, readChoices, readCount, readList, readNumber } from '../../engine/terminal/options.ts';

/** Reads the text given for a flag. @throws InputError that names the flag */
export type Reader<Value> = (flag: string, text: string) => Value;

/**
 * The value of an option in a parsed command line: text, texts for `<file...>`, `true` or `false` for a flag, or
 * nothing.
 */
export type Given = string | readonly string[] | boolean | undefined;

export interface OptionSpec<Value> {
  /** `--models <list>`, `--trace`; `<paper>` for an argument, which is required. */
  readonly flags: string;
  readonly help: string;
  /** Shown in help in place of the default's text. */
  readonly shown?: string;
  /** Text that is parsed if the option is not given. */
  readonly default?: string;
  /** Meaning of `--no-name`, if that form exists. */
  readonly negative?: string;
  readonly read: (given: Given) => Value;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;

/** The values of options by name. */
export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends OptionSpec<infer Value> ? Value : never;
};

/** The default's text, and how help shows it if not as that text. */
interface Default {
  readonly default: string;
  readonly shown?: string;
}

/** An option with a value; undefined where it is not given and has no default. */
export function option<Value>(flags: string, help: string, read: Reader<Value>, fallback: Default): OptionSpec<Value>;
export function option<Value>(flags: string, help: string, read: Reader<Value>): OptionSpec<Value | undefined>;
export function option<Value>(
  flags: string,
  help: string,
  read: Reader<Value>,
  fallback?: Default,
): OptionSpec<Value | undefined> {
  const flag = flags.replace(/ .*/, '');
  return {
    flags,
    help,
    ...fallback,
    read: (given) => (typeof given === 'string' ? read(flag, given) : undefined),
  };
}

const asIs: Reader<string> = (_, text) => text;

/** Text that is used unchanged: the name of a cluster, a model or a file. */
export function text(flags: string, help: string, standard: string): OptionSpec<string>;
export function text(flags: string, help: string): OptionSpec<string | undefined>;
export function text(flags: string, help: string, standard?: string): OptionSpec<string | undefined> {
  return standard === undefined ? option(flags, help, asIs) : option(flags, help, asIs, { default: standard });
}

/** `a,b,c`. */
export function list(flags: string, help: string, standard: string): OptionSpec<string[]> {
  return option(flags, help, readList, { default: standard });
}

/** One of `allowed`. */
export function choice<Name extends string>(
  flags: string,
  help: string,
  allowed: readonly Name[],
  standard: NoInfer<Name>,
): OptionSpec<Name> {
  return option(flags, help, (flag, given) => readChoice(flag, given, allowed), { default: standard });
}

/** `a,b,c`, each one of `allowed`; by default all of them, unless a default is given. */
export function choices<Name extends string>(
  flags: string,
  help: string,
  allowed: readonly Name[],
  standard: readonly NoInfer<Name>[] = allowed,
): OptionSpec<Name[]> {
  return option(flags, help, (flag, given) => readChoices(flag, given, allowed), { default: standard.join(',') });
}

/** `--model <file...>`: several values; undefined unless given. */
export function texts(flags: string, help: string): OptionSpec<readonly string[] | undefined> {
  return { flags, help, read: (given) => (typeof given === 'object' ? given : undefined) };
}

/** An argument, `<paper>`: one of `allowed`. */
export function argument<Name extends string>(flags: string, help: string, allowed: readonly Name[]): OptionSpec<Name> {
  const name = flags.replace(/[<>]/g, '');
  return { flags, help, read: (given) => readChoice(name, String(given), allowed) };
}

interface Bounds {
  readonly default: number;
  readonly least: number;
  readonly most: number;
}

/** A whole number; `least` is 1 and `most` ten million unless given. */
export function count(
  flags: string,
  help: string,
  { least, most, ...fallback }: Pick<Bounds, 'default'> & Partial<Bounds>,
): OptionSpec<number> {
  return option(flags, help, (flag, given) => readCount(flag, given, least, most), {
    default: String(fallback.default),
  });
}

/** A decimal number. */
export function number(flags: string, help: string, { least, most, ...fallback }: Bounds): OptionSpec<number> {
  return option(flags, help, (flag, given) => readNumber(flag, given, least, most), {
    default: String(fallback.default),
  });
}

/** `--name`: true if given. */
export function flag(name: string, help: string): OptionSpec<boolean> {
  return { flags: name, help, read: (given) => given === true };
}

/** `--name` and `--no-name`: undefined if neither is given. */
export function eitherFlag(name: string, help: string, negative: string): OptionSpec<boolean | undefined> {
  return { flags: name, help, negative, read: (given) => (typeof given === 'boolean' ? given : undefined) };
}

/** Declares options and arguments on a command. */
export function declareOptions(command: Command, specs: OptionSpecs): void {
  for (const { flags, help, default: standard, shown, negative } of Object.values(specs)) {
    if (isArgument(flags)) {
      command.argument(flags, help);
      continue;
    }
    const declared = new CommanderOption(flags, help);
    if (standard !== undefined) declared.default(standard, shown ?? standard);
    command.addOption(declared);
    if (negative !== undefined) command.option(`--no-${declared.name()}`, negative);
  }
}

/** Parses the values of a command line in the order of `specs`. @throws InputError that names the option */
export function readOptions<Specs extends OptionSpecs>(command: Command, specs: Specs): OptionValues<Specs> {
  const given = command.opts() as Readonly<Record<string, Given>>;
  const args = [...command.args];
  return Object.fromEntries(
    Object.entries(specs).map(([name, { flags, read }]) => [
      name,
      read(isArgument(flags) ? args.shift() : given[new CommanderOption(flags).attributeName()]),
    ]),
  ) as OptionValues<Specs>;
}

function isArgument(flags: string): boolean {
  return flags.startsWith('<');
}
