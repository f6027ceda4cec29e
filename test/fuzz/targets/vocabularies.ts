import { tokenizerMetadata } from '../../../engine/gguf/make/tokenizer.ts';
import type { MetadataValue } from '../../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { loadTokenizer } from '../../../engine/text/load-tokenizer.ts';
import { mutateHeader } from '../mutate-gguf.ts';
import type { FuzzTarget } from '../target.ts';
import { decodeInput, encodeInput, reader } from './gguf.ts';

const TEXT = 'Once 12 </s><0x0A>\u{1f600} \n\taé  x';

/** Vocabularies of GGUF files. An input is as one of gguf.ts. One that is accepted encodes and decodes a text. */
export function open(): FuzzTarget {
  const bytePairs = tokenizerMetadata(300);
  const strings = (values: readonly string[]): MetadataValue => ({ type: 'array', value: { of: 'string', values } });
  const pieces = [
    '<unk>',
    '<s>',
    '</s>',
    '\u2581',
    'a',
    'x',
    '\u2581a',
    'On',
    'ce',
    ...Array.from({ length: 256 }, byte),
  ];
  const sentencePieces: [string, MetadataValue][] = [
    ['tokenizer.ggml.model', { type: 'string', value: 'llama' }],
    ['tokenizer.ggml.tokens', strings(pieces)],
    ['tokenizer.ggml.scores', { type: 'array', value: { of: 'float32', values: pieces.map((_, index) => -index) } }],
    [
      'tokenizer.ggml.token_type',
      {
        type: 'array',
        value: { of: 'int32', values: pieces.map((_, index) => [2, 3, 3][index] ?? (index > 8 ? 6 : 1)) },
      },
    ],
  ];
  const headers = [bytePairs, sentencePieces].map((metadata) => ({
    metadata: new Map<string, MetadataValue>([
      ['general.architecture', { type: 'string', value: 'llama' }],
      ...metadata,
    ]),
    tensors: [{ name: 'output.weight', type: 'F32', shape: [32, 1] } as const],
  }));
  return {
    input: (random) => encodeInput(mutateHeader(headers, random)),
    read(input) {
      const header = decodeInput(input);
      const gguf = readGguf({ name: 'v.gguf', size: header.fileBytes, read: reader(header) });
      const tokenizer = loadTokenizer(gguf);
      const tokens = tokenizer.encode(TEXT, { addSpecial: true, parseSpecial: true });
      for (const token of tokens) tokenizer.bytesOf(token);
      const unknown = tokens.find((token) => !(Number.isInteger(token) && token >= 0 && token < tokenizer.size));
      if (unknown !== undefined) throw new Error(`the text has token ${unknown} of ${tokenizer.size}`);
      return 'a vocabulary';
    },
  };
}

function byte(_: unknown, value: number): string {
  return `<0x${value.toString(16).padStart(2, '0').toUpperCase()}>`;
}
