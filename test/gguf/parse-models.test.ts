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

test('metadata say what the columns don’t, and lists what layers have', () => {
  const row = `${ROW.replace('llama,2', 'lfm2,5')},"shortconv.l_cache=3 attention.head_count_kv=0*2,2,0,1"`;
  const [found] = parseModels(`${HEADER},metadata\n${row}`, 'm.csv');
  assert.equal(
    found?.shape.kinds.map(({ mixer }) => mixer?.kind),
    ['short-convolution', 'short-convolution', 'attention', 'short-convolution', 'attention'],
  );
});

const MISTAKES: readonly [string, string, string][] = [
  [
    'more experts for a token than there are',
    `${HEADER},experts,experts_used\n${ROW},4,9`,
    'm.csv: row 2, column experts_used: is uint32 9; a whole number from 1 to 4 is needed',
  ],
  [
    'metadata that the family doesn’t read',
    `${HEADER},metadata\n${ROW},expert_cuont=4`,
    'm.csv: row 2, column metadata: "expert_cuont" is not read of this model; did you mean "expert_count"?',
  ],
  [
    'metadata of another kind than needed',
    `${HEADER},metadata\n${ROW},expert_count=4 expert_used_count=many`,
    'm.csv: row 2, column metadata, expert_used_count: is string "many"; a whole number from 1 to 4 is needed',
  ],
  [
    'metadata without a value',
    `${HEADER},metadata\n${ROW},expert_count`,
    'm.csv: row 2, column metadata: "expert_count" isn’t a pair; write key=value, with spaces between pairs',
  ],
  [
    'metadata that are missing',
    `${HEADER}\n${ROW.replace('llama', 'lfm2')}`,
    'm.csv: row 2, column metadata, shortconv.l_cache: is missing; a whole number',
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
