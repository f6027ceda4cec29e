import { inTurns, type Slices } from '../slices.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { createGrammar, type Grammar } from './grammar.ts';
import { createLongFormStates } from './long-form-states.ts';
import { checkSize } from './schema-bounds.ts';
import type { SchemaError } from './schema-error.ts';
import { LongWork, shortWork } from './short-work.ts';
import { type FormStates, formStates, type TextForm } from './text-form.ts';
import { readTokenBytes, type TokenBytes } from './token-bytes.ts';

/** The grammars of texts that a model writes. */
export interface Grammars {
  /** Whether texts can be held to a form: the vocabulary has a token that ends them. */
  readonly canHold: boolean;
  /**
   * The grammar of a form. The process handles other events meanwhile; forms that take long are made one at a time.
   * @param signal ends the work; the promise rejects then
   * @throws SchemaError and InputError as formStates, GrammarError for forms with which nothing can be begun in time
   */
  of(form: TextForm, signal: AbortSignal): Promise<HeldForm>;
}

export interface HeldForm extends Grammar {
  /** Parts of schemas that are not enforced. */
  readonly ignored: readonly SchemaError[];
}

/** Grammars that are kept, with all that is known of them, for requests with the same form. */
const MOST_KEPT = 8;
/** Forms up to this many characters and steps are made while others wait, a few milliseconds; a thread makes longer ones. */
const SHORT_CHARACTERS = 2 ** 13;
const SHORT_STEPS = 2 ** 12;

/** The vocabulary is read when the first grammar is asked for. */
export function createGrammars(tokenizer: Pick<Tokenizer, 'size' | 'bytesOf' | 'stops'>): Grammars {
  let vocabulary: Promise<TokenBytes> | undefined;
  const longFormStates = createLongFormStates();
  let lastLong: Promise<unknown> = Promise.resolve();
  const kept = new Map<string, HeldForm>();
  const held = async ({ entry, ignored }: FormStates, signal: AbortSignal): Promise<HeldForm> => {
    vocabulary ??= inTurns(readTokenBytes(tokenizer));
    return { ...(await inTurns(createGrammar(entry, await vocabulary), signal)), ignored };
  };
  const keep = (key: string, form: HeldForm): HeldForm => {
    kept.delete(key);
    kept.set(key, form);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT) kept.delete(oldest as string);
    return form;
  };
  return {
    canHold: tokenizer.stops.size > 0,
    async of(form, signal) {
      const key = await inTurns(keyOf(form), signal);
      const known = kept.get(key);
      if (known !== undefined) return keep(key, known);
      const short = shortFormStates(form, key);
      if (short !== undefined) return keep(key, await held(short, signal));
      const long = lastLong.then(async () =>
        keep(key, kept.get(key) ?? (await held(await longFormStates(form, signal), signal))),
      );
      lastLong = long.catch(() => {});
      return await long;
    },
  };
}

/** The form as a text. @throws SchemaError for schemas beyond the bounds */
function* keyOf(form: TextForm): Slices<string> {
  for (const schema of [form.schema, ...(form.calls?.tools.map(({ parameters }) => parameters) ?? [])]) {
    yield* checkSize(schema);
    yield;
  }
  return JSON.stringify(form);
}

/** The states of a form that takes a few milliseconds; otherwise `undefined`. */
function shortFormStates(form: TextForm, { length }: string): FormStates | undefined {
  if (length > SHORT_CHARACTERS) return undefined;
  try {
    return formStates(form, shortWork(SHORT_STEPS));
  } catch (error) {
    if (error instanceof LongWork) return undefined;
    throw error;
  }
}
