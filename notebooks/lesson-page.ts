import { LESSONS } from './lessons.ts';
import { explainTerms } from './lib/terms.ts';

/**
 * The frame of every lesson: links to the lesson before and the one after, below the text; and the glossary's terms
 * explained in it.
 */
const page =
  location.pathname
    .split('/')
    .at(-1)
    ?.replace(/\.html$/, '') ?? '';
const at = LESSONS.findIndex((lesson) => lesson.page === page);
const links = document.getElementById('neighbours');

function link(lesson: (typeof LESSONS)[number] | undefined, label: string): HTMLElement {
  const place = document.createElement('span');
  if (lesson === undefined) return place;
  const anchor = place.appendChild(document.createElement('a'));
  anchor.href = `./${lesson.page}.html`;
  anchor.textContent = `${label}: ${lesson.title}`;
  return place;
}

links?.append(link(LESSONS[at - 1], 'Before'), link(LESSONS[at + 1], 'Next'));
explainTerms(document);
