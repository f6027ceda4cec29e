import type { TextList } from '../gguf/text-list.ts';
import type { Slices } from './slices.ts';
import type { TextNumbers } from './text-numbers.ts';

/** Turns text into the tokens of a model and back. */
export interface Tokenizer {
  /** Tokens in the vocabulary; ids are 0 … size − 1. */
  readonly size: number;
  /** The tokens of a text. */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * A text with a sign in each of its control tokens, which then stay text where the sign is the guard of `encode`.
   * @param kept spellings of control tokens that remain
   */
  guarded(text: string, sign: string, kept: readonly string[]): Slices<string>;
  /** The same, during which the process handles other events, however long the text is. */
  encodeInTurns(text: string, options?: EncodeOptions): Promise<number[]>;
  /** The UTF-8 bytes of a token; characters may span tokens. Control tokens have none. */
  bytesOf(token: number): Uint8Array;
  /** A token as the vocabulary spells it: `▁the`, `Ġthe`, `<0x0A>`, `<|im_end|>`. */
  spell(token: number): string;
  /** The token at the beginning of every text, if the model has one. */
  readonly begin: number | undefined;
  /** The token at the end of every text. */
  readonly end: number | undefined;
  /** Whether `addSpecial` puts `begin` before a text. */
  readonly addsBegin: boolean;
  /** Tokens that end generation: end of text, of a turn, of a message. */
  readonly stops: ReadonlySet<number>;
  /** Tokens with which the model fills in a text; `undefined`: it wasn't trained to. */
  readonly fillMarks: FillMarks | undefined;
}

/** Tokens of models that were trained to fill in a text between two others. */
export interface FillMarks {
  /** Before the text in front, before the text behind, and before what is written. */
  readonly prefix: number;
  readonly suffix: number;
  readonly middle: number;
  /** Before the name of a repository, and before that of a file of it. */
  readonly repository: number | undefined;
  readonly file: number | undefined;
  /** Tokens that end what is written: those of padding and of the next file. */
  readonly ends: readonly number[];
}

/** How a text becomes tokens. */
export interface EncodeOptions {
  /**
   * Adds the tokens at the beginning and end with which the model was trained, or that at the beginning alone. Default:
   * false.
   */
  readonly addSpecial?: boolean | 'begin';
  /** Encodes `<|im_start|>` and the like as control tokens instead of text. Default: false. */
  readonly parseSpecial?: boolean;
  /** A character that is left out of the text, and keeps special tokens from being found. */
  readonly guard?: string;
}

/** The part of a tokenizer for plain text, without control tokens, beginning and end. */
export interface Segmenter {
  /**
   * Adds the tokens of a text.
   * @param text not empty
   * @param leads whether the text is the first or follows a special token
   * @param tokens those before
   * @throws InputError if the vocabulary can't express a byte of the text
   */
  segment(text: string, leads: boolean, tokens: number[]): Slices<void>;
  /** The bytes that an ordinary token of the vocabulary stands for. */
  bytesOf(spelling: string): Uint8Array;
}

/** Kinds of tokens (llama.cpp, llama_token_type). */
export const TOKEN_KIND = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** A vocabulary as a GGUF file has it. */
export interface Vocabulary {
  readonly file: string;
  /** By token. */
  readonly spellings: TextList;
  /** By token: TOKEN_KIND. */
  readonly kinds: ArrayLike<number>;
  /** Tokens that plain text may become, by spelling: no control, unknown or byte tokens, and no unused ones. */
  readonly ordinary: TextNumbers;
  readonly unknown: number | undefined;
}

/** How a tokenizer model splits plain text, and whether texts begin with the beginning token by default. */
export interface TokenizerMethod {
  readonly segmenter: Segmenter;
  readonly addsBegin: boolean;
}

/** Prefix of the tokenizer's metadata keys. */
export const TOKENIZER_KEY = 'tokenizer.ggml';
