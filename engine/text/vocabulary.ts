import type { Gguf } from '../gguf/gguf.ts';
import { type MetadataFields, metadataFields } from '../gguf/metadata-fields.ts';

/** Kinds of tokens (llama.cpp, llama_token_type). */
export const TOKEN_KIND = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** A vocabulary as a GGUF file has it. */
export interface Vocabulary {
  readonly file: string;
  /** By token. */
  readonly spellings: readonly string[];
  /** By token: TOKEN_KIND. */
  readonly kinds: ArrayLike<number>;
  /** Tokens that plain text may become, by spelling: no control, unknown or byte tokens, and no unused ones. */
  readonly ordinary: ReadonlyMap<string, number>;
  readonly unknown: number | undefined;
}

/** @throws InputError where the file has no vocabulary, or lists that don't go together */
export function readVocabulary(gguf: Gguf): Vocabulary {
  const fields = metadataFields(gguf);
  const spellings = fields.optionalTexts('tokenizer.ggml.tokens');
  if (spellings === undefined || spellings.length === 0)
    return fields.fail('tokenizer.ggml.tokens', 'is missing or empty; the file has no vocabulary');
  const kinds =
    numbersPerToken(fields, 'tokenizer.ggml.token_type', spellings.length) ??
    new Uint8Array(spellings.length).fill(TOKEN_KIND.normal);
  const ordinary = new Map<string, number>();
  for (let token = 0; token < spellings.length; token++) {
    const kind = kinds[token];
    if (kind === TOKEN_KIND.normal || kind === TOKEN_KIND.userDefined) ordinary.set(spellings[token] as string, token);
  }
  const unknown = fields.optionalIndex('tokenizer.ggml.unknown_token_id', spellings.length);
  return { file: gguf.file, spellings, kinds, ordinary, unknown };
}

/** An array with one number for each token. @throws InputError for another length */
export function numbersPerToken(fields: MetadataFields, key: string, tokens: number): ArrayLike<number> | undefined {
  const numbers = fields.optionalNumbers(key);
  if (numbers !== undefined && numbers.length !== tokens)
    fields.fail(key, `has ${numbers.length} numbers for ${tokens} tokens; one for each is needed`);
  return numbers;
}
