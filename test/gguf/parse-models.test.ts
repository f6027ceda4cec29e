import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { uniformShape } from '../../engine/model/architecture.ts';

const HEADER =
  'name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,tied_embeddings,qkv_bias,default_mix,provenance';
const ROW = 'Tiny,llama,2,64,128,4,2,16,100,false,false,F16,assumed: a test';

function message(text: string): string {
  try {
    parseModels(text, 'm.csv');
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

test('a row becomes a shape', () => {
  assert.equal(parseModels(`${HEADER}\n${ROW}\n`, 'm.csv'), [
    {
      shape: uniformShape({
        name: 'Tiny',
        architecture: 'llama',
        layers: 2,
        hiddenSize: 64,
        ffnSize: 128,
        heads: 4,
        kvHeads: 2,
        headSize: 16,
        vocabularySize: 100,
        tiedEmbeddings: false,
        qkvBias: false,
      }),
      defaultMix: 'F16',
      provenance: 'assumed: a test',
    },
  ]);
});

const MISTAKES: readonly [string, string, string][] = [
  [
    'more experts for a token than there are',
    `${HEADER},experts,experts_used\n${ROW},4,9`,
    'm.csv: row 2, column experts_used: is uint32 9; a whole number from 1 to 4 is needed',
  ],
  [
    'a negative count',
    `${HEADER}\n${ROW.replace(',2,64', ',-2,64')}`,
    'm.csv: row 2, column layers: "-2" is not a whole number between 1 and 1000',
  ],
  [
    'NaN',
    `${HEADER}\n${ROW.replace(',64,', ',NaN,')}`,
    'm.csv: row 2, column hidden_size: "NaN" is not a whole number between 1 and 10000000',
  ],
  [
    'a misspelt architecture',
    `${HEADER}\n${ROW.replace('llama', 'lama')}`,
    'm.csv: row 2, column architecture: unknown "lama"; did you mean "llama"?',
  ],
  [
    'a misspelt column',
    `${HEADER.replace('layers', 'layres')}\n${ROW}`,
    'm.csv: row 1: unknown column "layres"; did you mean "layers"?',
  ],
  [
    'a missing column',
    `${HEADER.replace('qkv_bias,', '')}\n${ROW.replace('false,F16', 'F16')}`,
    'm.csv: row 1: column "qkv_bias" is missing',
  ],
  ['the same name twice', `${HEADER}\n${ROW}\n${ROW}`, 'm.csv: row 3, column name: "Tiny" occurs twice; rename one'],
  [
    'heads that do not divide',
    `${HEADER}\n${ROW.replace(',4,2,', ',4,3,')}`,
    'm.csv: row 2, column kv_heads: 3 does not divide the 4 query heads',
  ],
  [
    'neither true nor false',
    `${HEADER}\n${ROW.replace('false', 'no')}`,
    'm.csv: row 2, column tied_embeddings: "no" is neither true nor false',
  ],
  ['an unclosed quote', `${HEADER}\n"Tiny`, 'm.csv: is not valid CSV: Quote Not Closed'],
  ['a short row', `${HEADER}\nTiny,llama`, 'm.csv: is not valid CSV: Invalid Record Length'],
  ['no row', HEADER, 'm.csv: has no model; give one row per model below the header'],
];

for (const [what, text, expected] of MISTAKES) {
  test(`${what} is an error of one line with its place`, () => {
    const found = message(text);
    assert.ok(found.startsWith(expected), found);
    assert.not.match(found, '\n');
  });
}

test.run();
