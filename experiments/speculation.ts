import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadAddon } from '../engine/kernels/native/addon.ts';
import type { Shape } from '../engine/model/architecture.ts';
import { readCount, readList, readNumber } from '../engine/terminal/options.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { checkSameVocabulary } from '../engine/text/speculation/same-vocabulary.ts';
import { madeModel } from './measure/made-models.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choices, count, flag, option, text } from './report/options.ts';
import { PLACES } from './speculation/machine.ts';
import { speculationFindings, speculationPage, speculationTable } from './speculation/report.ts';
import { type Length, runSpeculation, type Source, stepsOf } from './speculation/run.ts';

/** Larger than the processor's caches, so that a pass reads its weights from memory. */
const SHAPE: Shape = {
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
};

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
    weights: choices('--weights <list>', `where weights are: ${PLACES.join(', ')}`, PLACES),
    lengths: option(
      '--lengths <list>',
      'drafted tokens at a time, and adaptive',
      (name, list) =>
        readList(name, list).map((item): Length => (item === 'adaptive' ? item : readCount(name, item, 0, 16))),
      { default: '0,1,2,3,4,6,8,adaptive' },
    ),
    prompt: text('--prompt <text>', 'the text that is continued', 'Once upon a time there was a little girl'),
    tokens: count('--tokens <n>', 'tokens of each text', { default: 96, least: 8, most: 2000 }),
    repeats: count('--repeats <n>', 'texts of each case, by turns with one without drafts', { default: 3, most: 100 }),
    threads: count('--threads <n>', 'threads of the CPU', { default: availableParallelism(), most: 1024 }),
    cache: text('--cache <dir>', 'where the random model is kept', join(tmpdir(), 'hearth-models')),
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
    const prompt = tokenizer.encode(options.prompt, { addSpecial: true });
    const drafts: readonly Source[] =
      draft === undefined ? acceptance.map((acceptanceRate) => ({ acceptanceRate })) : [{ draft }];
    const sources: readonly Source[] = options.lookup ? [...drafts, 'lookup'] : drafts;
    const asked = { file, places, sources, lengths, prompt, tokens, repeats, threads, seed };
    const found = await runSpeculation(asked, progress(stepsOf(asked)));
    const table = speculationTable(found);
    return {
      subtitle: `${modelText(found.model)} on ${hostname()}, ${threads === 1 ? '1 thread' : `${threads} threads`} · ${tokens} tokens after a prompt of ${prompt.length} · ${repeats} repeats`,
      findings: speculationFindings(found),
      data: {
        settings: {
          model: found.model.name,
          mix: found.model.mix,
          draft,
          places,
          lengths,
          acceptance,
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
