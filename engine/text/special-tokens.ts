import { TOKEN_KIND, type Vocabulary } from './vocabulary.ts';

/** A text with its special tokens taken out: texts and tokens in order, no text empty. */
export type Fragment = string | number;

/** Cuts a text at special tokens: user-defined ones always, control tokens only where they are asked for. */
export type SpecialTokens = (text: string, parseSpecial: boolean) => Fragment[];

/** Finds them in one pass over the text: leftmost first, then longest. */
export function specialTokens({ spellings, kinds }: Vocabulary): SpecialTokens {
  const always = new Map<string, number>();
  const all = new Map<string, number>();
  for (let token = 0; token < spellings.length; token++) {
    const [spelling, kind] = [spellings[token] as string, kinds[token]];
    if (spelling === '') continue;
    const userDefined = kind === TOKEN_KIND.userDefined;
    if (userDefined) always.set(spelling, token);
    if (userDefined || kind === TOKEN_KIND.control || kind === TOKEN_KIND.unknown) all.set(spelling, token);
  }
  const [cutAlways, cutAll] = [always, all].map(cutter) as [Cutter, Cutter];
  return (text, parseSpecial) => (parseSpecial ? cutAll : cutAlways)(text);
}

type Cutter = (text: string) => Fragment[];

function cutter(tokens: ReadonlyMap<string, number>): Cutter {
  /** Lengths of the tokens that begin with a character, the longest first: few, so that a text is passed quickly. */
  const lengths = new Map<number, number[]>();
  for (const spelling of tokens.keys()) {
    const own = lengths.get(spelling.charCodeAt(0)) ?? [];
    if (!own.includes(spelling.length)) own.push(spelling.length);
    lengths.set(
      spelling.charCodeAt(0),
      own.sort((a, b) => b - a),
    );
  }
  return (text) => {
    const fragments: Fragment[] = [];
    let start = 0;
    for (let index = 0; index < text.length; index++) {
      const length = lengths.get(text.charCodeAt(index))?.find((own) => tokens.has(text.slice(index, index + own)));
      if (length === undefined) continue;
      if (index > start) fragments.push(text.slice(start, index));
      fragments.push(tokens.get(text.slice(index, index + length)) as number);
      start = index + length;
      index = start - 1;
    }
    if (start < text.length) fragments.push(text.slice(start));
    return fragments;
  };
}
