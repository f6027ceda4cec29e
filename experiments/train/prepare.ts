import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { writeGguf } from '../../engine/gguf/write-gguf.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import type { Tokenizer } from '../../engine/text/tokenizer.ts';
import { type Document, firstDocuments } from './grammar/grammar.ts';
import { PREPARED } from './prepared.ts';
import { documentText, tokenizerMetadata } from './tokenizer.ts';

const program = new Command('prepare')
  .description('Writes the corpus of the small models as tokens, their tokenizer, and the entropy of the grammar.')
  .requiredOption('--out <folder>', 'the folder to write; files in it are replaced')
  .option('--documents <n>', 'documents to train on, about 78 tokens each', '120000')
  .option('--held-out <n>', 'documents that are held out', '1000')
  .option('--seed <n>', 'the same seed gives the same corpus', '1')
  .action(async (options: Record<'out' | 'documents' | 'heldOut' | 'seed', string>) => {
    const seed = readCount('--seed', options.seed, 0, 2 ** 32 - 1);
    const training = firstDocuments(seed, 'training', readCount('--documents', options.documents, 1));
    const heldOut = firstDocuments(seed, 'held-out', readCount('--held-out', options.heldOut, 1));
    mkdirSync(options.out, { recursive: true });
    const file = (name: string): string => join(options.out, name);
    await writeGguf(file(PREPARED.tokenizer), new Map(tokenizerMetadata(seed)), []);
    const tokenizer = loadTokenizer(withFile(file(PREPARED.tokenizer), readGguf));
    const trained = encodeDocuments(tokenizer, training);
    const held = encodeDocuments(tokenizer, heldOut);
    writeFileSync(file(PREPARED.tokens), Uint16Array.from(trained.flat()));
    writeFileSync(
      file(PREPARED.lengths),
      Uint16Array.from(trained, ({ length }) => length),
    );
    writeFileSync(file(PREPARED.heldOutTokens), Uint16Array.from(held.flat()));
    writeFileSync(
      file(PREPARED.heldOutLengths),
      Uint16Array.from(held, ({ length }) => length),
    );
    const facts = {
      seed,
      vocabulary: tokenizer.size,
      training: partFacts(training, trained),
      heldOut: partFacts(heldOut, held),
    };
    writeFileSync(file(PREPARED.facts), `${JSON.stringify(facts, null, 2)}\n`);
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
  });

/** The tokens of documents as a model sees them, each beginning with the token for the beginning of a text. */
function encodeDocuments(tokenizer: Tokenizer, documents: readonly Document[]): number[][] {
  return documents.map((document) =>
    tokenizer.encode(documentText(document), { addSpecial: true, parseSpecial: true }),
  );
}

function partFacts(documents: readonly Document[], encoded: readonly number[][]) {
  // The first token is given, so it is not predicted.
  const predicted = encoded.reduce((sum, { length }) => sum + length - 1, 0);
  return {
    documents: documents.length,
    predictedTokens: predicted,
    longestDocument: Math.max(...encoded.map(({ length }) => length)),
    entropyNatsPerToken: documents.reduce((sum, { nats }) => sum + nats, 0) / predicted,
  };
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'prepare');
}
