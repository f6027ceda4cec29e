import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const ROOMS = ['bin', 'commands', 'datasets', 'engine', 'experiments', 'library', 'notebooks', 'planner', 'simulator'];

/** Files whose strings are read by programs, or are data, not messages. */
const OTHER_STRINGS: readonly RegExp[] = [
  /^engine\/kernels\/webgpu\/shaders\//, // WGSL
  /^experiments\/report\/page\/(charts|tables)-script\.ts$/, // JavaScript of a page
  /^(commands\/help\/completions|experiments\/lab\/model|experiments\/sweep\/slurm\/script)\.ts$/, // quotes of shells
  /^engine\/gguf\/make\/tokenizer\.ts$/, // a text from which tokens are made
  /^engine\/text\/grammar\/patterns\/formats\.ts$/, // classes of characters
  /^notebooks\/a-model-in-the-page\/training\/train\.ts$/, // written to a model's file, which is on record
];

const files = ROOMS.flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|js)$/.test(file) && !/\.d\.ts$|(^|\/)(dist|bundle)\//.test(file))
    .map((file) => `${room}/${file}`)
    .filter((file) => !OTHER_STRINGS.some((pattern) => pattern.test(file))),
);

/** A straight apostrophe, or “beside” in a text of several words. */
const WRONG = /[\p{L}\d]'(s|t|re|ve|ll|d|m)\b|\p{L}s' \p{L}|^'s\b|\bbeside\s|\sbeside\b/iu;

/** Places of strings in which an apostrophe is straight, or something is “beside” another. */
function wrongStrings(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  if (!/['\\]'?(s|t|re|ve|ll|d|m)\b|s' |beside/i.test(text)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
    if (isText && WRONG.test(node.text))
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}: ${node.text}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test('messages, help and reports have one kind of apostrophe, and nothing is “beside” another', () => {
  assert.ok(files.length > 500);
  assert.equal(files.flatMap(wrongStrings), []);
});

test('so do lessons and pages', () => {
  const pages = ['notebooks', 'engine', 'experiments'].flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.html'))
      .map((file) => `${room}/${file}`),
  );
  assert.ok(pages.length > 5);
  const wrong = pages.flatMap((page) =>
    readFileSync(page, 'utf8')
      .split('\n')
      .filter((line) => !/^\s*(\/[*/]|\* |import\b)/.test(line) && WRONG.test(line))
      .map((line) => `${page}: ${line.trim().slice(0, 100)}`),
  );
  assert.equal(wrong, []);
});

test.run();
