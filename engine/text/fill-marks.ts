import type { MetadataFields } from '../gguf/metadata-fields.ts';
import { type FillMarks, TOKENIZER_KEY, type Vocabulary } from './tokenizer.ts';

type Mark = 'prefix' | 'suffix' | 'middle' | 'padding' | 'repository' | 'file';

/** Keys of a file, and spellings where it has none, as in llama.cpp (llama_vocab::impl::load). */
const MARKS: Readonly<Record<Mark, { readonly keys: readonly string[]; readonly spellings: readonly string[] }>> = {
  prefix: {
    keys: ['fim_pre', 'prefix'],
    spellings: [
      '<|fim_prefix|>',
      '<fim-prefix>',
      '<fim_prefix>',
      '<PRE>',
      '▁<PRE>',
      '<｜fim▁begin｜>',
      '<|code_prefix|>',
    ],
  },
  suffix: {
    keys: ['fim_suf', 'suffix'],
    spellings: [
      '<|fim_suffix|>',
      '<fim-suffix>',
      '<fim_suffix>',
      '<SUF>',
      '▁<SUF>',
      '<｜fim▁hole｜>',
      '<|code_suffix|>',
    ],
  },
  middle: {
    keys: ['fim_mid', 'middle'],
    spellings: [
      '<|fim_middle|>',
      '<fim-middle>',
      '<fim_middle>',
      '<MID>',
      '▁<MID>',
      '<｜fim▁end｜>',
      '<|code_middle|>',
    ],
  },
  padding: { keys: ['fim_pad'], spellings: ['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>'] },
  repository: { keys: ['fim_rep'], spellings: ['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>'] },
  file: { keys: ['fim_sep'], spellings: ['<|file_sep|>'] },
};

/** The marks of a vocabulary; `undefined` unless it has those before all three texts. */
export function fillMarks(fields: MetadataFields, { spellings }: Vocabulary): FillMarks | undefined {
  const found = new Map<string, number>();
  const wanted = new Set(Object.values(MARKS).flatMap((mark) => mark.spellings));
  for (let token = 0; token < spellings.length; token++) {
    const spelling = spellings.at(token) as string;
    if (wanted.has(spelling)) found.set(spelling, token);
  }
  const markOf = (mark: Mark): number | undefined => {
    for (const key of MARKS[mark].keys) {
      const token = fields.optionalIndex(`${TOKENIZER_KEY}.${key}_token_id`, spellings.length);
      if (token !== undefined) return token;
    }
    return MARKS[mark].spellings.map((spelling) => found.get(spelling)).find((token) => token !== undefined);
  };
  const [prefix, suffix, middle] = [markOf('prefix'), markOf('suffix'), markOf('middle')];
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  const [padding, repository, file] = [markOf('padding'), markOf('repository'), markOf('file')];
  const ends = [padding, repository, file].filter((token) => token !== undefined);
  return { prefix, suffix, middle, repository, file, ends };
}
