/** The part of a tokenizer that knows plain text only: no control tokens, no beginning and end. */
export interface Segmenter {
  /**
   * @param text not empty
   * @param leads whether the text is the first, or follows a special token
   * @throws InputError where the vocabulary can't express a byte of the text
   */
  segment(text: string, leads: boolean): number[];
  /** The bytes that an ordinary token of the vocabulary stands for. */
  bytesOf(spelling: string): Uint8Array;
}
