import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paragraphs to train on, and those that are held out. */
export interface Corpus {
  readonly training: string;
  readonly heldOut: string;
}

/** Rooms whose docstrings are read. */
const ROOMS = ['engine', 'simulator', 'planner', 'commands', 'experiments', 'datasets', 'notebooks'];
/** One in this many paragraphs is held out. */
const HELD_OUT = 20;
/** Shorter ones are labels rather than sentences. */
const SHORTEST = 40;

/** The project's own prose: its Markdown files, the lessons' text, and the docstrings of its source. */
export function readCorpus(root: string): Corpus {
  const files = (folder: string, ending: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(ending) && !file.includes('node_modules'))
      .sort()
      .map((file) => readFileSync(join(root, folder, file), 'utf8'));
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const prose = [...files('docs', '.md'), ...['README.md', 'CONTRIBUTING.md', 'datasets/README.md'].map(read)];
  const lessons = files('notebooks', '.html').flatMap((page) =>
    Array.from(page.matchAll(/<script id="\d+" type="text\/markdown">([\s\S]*?)<\/script>/g), ([, text = '']) => text),
  );
  const docstrings = ROOMS.flatMap((room) => files(room, '.ts')).flatMap((source) =>
    Array.from(source.matchAll(/\/\*\*([\s\S]*?)\*\//g), ([, text = '']) => text.replace(/^\s*\* ?/gm, '')),
  );
  const paragraphs = [...prose, ...lessons, ...docstrings].flatMap(paragraphsOf);
  const kept = [...new Set(paragraphs)];
  return {
    training: kept.filter((_, index) => index % HELD_OUT !== 0).join('\n'),
    heldOut: kept.filter((_, index) => index % HELD_OUT === 0).join('\n'),
  };
}

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/```[\s\S]*?```/g, ''],
  [/\[([^\]]*)\]\([^)]*\)/g, '$1'],
  [/^ *(#+|[-*]|\d+\.) +/gm, ''],
  [/[*`_]/g, ''],
  [/[’‘]/g, "'"],
  [/[“”]/g, '"'],
  [/[–—−]/g, '-'],
  [/×/g, 'x'],
];

/** Paragraphs in ASCII, each on one line, without tables, code and marks of Markdown. */
function paragraphsOf(text: string): string[] {
  const plain = REPLACED.reduce((found, [pattern, by]) => found.replace(pattern, by), text);
  return plain
    .split(/\n\s*\n|\n(?=@)/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph.length >= SHORTEST && !/[|@{}<>]|[^ -~]/.test(paragraph));
}
