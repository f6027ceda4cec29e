import { quoted } from '../../gguf/gguf-error.ts';
import { InputError } from '../../input/input-error.ts';
import type { Tokenizer } from '../tokenizer.ts';

/** A model's file and its vocabulary. */
export interface NamedVocabulary {
  readonly file: string;
  readonly tokenizer: Pick<Tokenizer, 'size' | 'spell'>;
}

/** @throws InputError unless a draft's tokens are those of the model, one by one */
export function checkSameVocabulary(draft: NamedVocabulary, model: NamedVocabulary): void {
  const refuse = (difference: string): never => {
    throw new InputError(draft.file, `${difference}; a draft needs the vocabulary of ${model.file}, token by token`);
  };
  if (draft.tokenizer.size !== model.tokenizer.size)
    refuse(`has ${draft.tokenizer.size} tokens, and the model has ${model.tokenizer.size}`);
  for (let token = 0; token < model.tokenizer.size; token++) {
    const [own, other] = [draft.tokenizer.spell(token), model.tokenizer.spell(token)];
    if (own !== other) refuse(`token ${token} is ${quoted(own)}, and of the model ${quoted(other)}`);
  }
}
