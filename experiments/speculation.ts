import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { counted } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadAddon } from '../engine/kernels/native/addon.ts';
import { type Shape, uniformShape } from '../engine/model/architecture.ts';
import { readCount, readList, readNumber } from '../engine/terminal/options.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { checkSameVocabulary } from '../engine/text/speculation/same-vocabulary.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import { madeModel } from './measure/made-models.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choices, count, flag, option, text } from './report/options.ts';
import { PLACES } from './speculation/machine.ts';
import type { Length, Source } from './speculation/measure.ts';
import { speculationFindings, speculationPage, speculationTable } from './speculation/report.ts';
import { runSpeculation, stepsOf } from './speculation/run.ts';
import { firstDocuments } from './train/grammar/grammar.ts';
import { documentText } from './train/tokenizer.ts';

/** Larger than the processor's caches, so that a pass reads its weights from memory. */
const SHAPE: Shape = uniformShape({
  name: 'Random-90M',
  architecture: 'llama',
  layers: 8,
  hiddenSize: 1024,
  ffnSize: 2816,
  heads: 16,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 2048,
  tiedEmbeddings: false,
  qkvBias: false,
});

/** Tokens of a document with which a text begins. */
const BEGINNING = 16;

interface Beginnings {
  readonly prompt: string | undefined;
  readonly texts: number;
}

function promptsOf(tokenizer: Tokenizer, { prompt, texts }: Beginnings): number[][] {
  if (prompt !== undefined) return [tokenizer.encode(prompt, { addSpecial: true })];
  return firstDocuments(1, 'held-out', texts).map((document) =>
    tokenizer.encode(documentText(document), { addSpecial: true, parseSpecial: true }).slice(0, BEGINNING),
  );
}

await runExperiment({
  name: 'speculation',
  description:
    'What speculative decoding gains on this machine by the number of drafted tokens, weights in RAM and streamed: predicted, simulated, measured.',
  options: {
    model: text('--model <file>', 'a GGUF file; a random one of 90 million weights unless given'),
    draft: text('--draft <file>', 'a draft model with the same vocabulary, in place of stand-ins'),
    lookup: flag('--lookup', 'drafts looked up in the text as well'),
    acceptance: option(
      '--acceptance <list>',
      'acceptance rates of stand-ins, which know the text and err at random',
      (name, list) => readList(name, list).map((item) => readNumber(name, item, 0, 1)),
      { default: '0,0.8' },
    ),
    weights: choices(
      '--weights <list>',
      `where weights are: ${PLACES.join(', ')} (the last on a lab ring of four devices, which needs root)`,
      PLACES,
      ['RAM', 'streamed'],
    ),
    lengths: option(
      '--lengths <list>',
      'drafted tokens at a time, and adaptive',
      (name, list) =>
        readList(name, list).map((item): Length => (item === 'adaptive' ? item : readCount(name, item, 0, 16))),
      { default: '0,1,2,3,4,6,8,adaptive' },
    ),
    texts: count('--texts <n>', 'texts of a measurement, which begin as held-out ones of the corpus of stories do', {
      default: 1,
      most: 100,
    }),
    prompt: text('--prompt <text>', 'the beginning of the only text, in place of those'),
    tokens: count('--tokens <n>', 'the most tokens of each text', { default: 96, least: 8, most: 2000 }),
    repeats: count('--repeats <n>', 'measurements of each case, by turns with one without drafts', {
      default: 3,
      most: 100,
    }),
    threads: count('--threads <n>', 'threads of the CPU', { default: availableParallelism(), most: 1024 }),
    cache: text(
      '--cache <dir>',
      'where the random model is kept, and the parts of a ring’s',
      join(tmpdir(), 'hearth-models'),
    ),
  },
  json: 'speculation.json',
  files: ['speculation.csv'],
  seed: { help: 'of the random model and of what stand-ins guess' },
  async run(options, { progress }) {
    const { draft, acceptance, weights: places, lengths, tokens, repeats, threads, seed } = options;
    const addon = loadAddon();
    if (typeof addon === 'string')
      throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
    const file = options.model ?? (await madeModel(options.cache, SHAPE, 'Q8_0', seed));
    const tokenizer = loadTokenizer(withFile(file, readGguf));
    if (draft !== undefined)
      checkSameVocabulary({ file: draft, tokenizer: loadTokenizer(withFile(draft, readGguf)) }, { file, tokenizer });
    const prompts = promptsOf(tokenizer, options);
    // A random model's end token means nothing.
    const stops = options.model === undefined ? new Set<number>() : tokenizer.stops;
    const drafts: readonly Source[] =
      draft === undefined ? acceptance.map((acceptanceRate) => ({ acceptanceRate })) : [{ draft }];
    const sources: readonly Source[] = options.lookup ? [...drafts, 'lookup'] : drafts;
    const folder = options.cache;
    const asked = { file, places, sources, lengths, prompts, stops, tokens, repeats, threads, seed, folder };
    const found = await runSpeculation(asked, progress(stepsOf(asked)));
    const table = speculationTable(found);
    return {
      subtitle: `${modelText(found.model)} on ${hostname()}, ${counted(threads, 'thread')} · ${counted(prompts.length, 'text')} of ${counted(tokens, 'token')} at most · ${counted(repeats, 'repeat')}`,
      findings: speculationFindings(found),
      data: {
        settings: {
          model: found.model.name,
          mix: found.model.mix,
          draft,
          places,
          lengths,
          acceptance,
          texts: prompts.length,
          tokens,
          repeats,
          threads,
          seed,
        },
        passes: found.passes,
        rows: found.rows,
      },
      text: [terminalTable(table)],
      page: speculationPage(found),
      files: { 'speculation.csv': tableCsv(table) },
    };
  },
});
