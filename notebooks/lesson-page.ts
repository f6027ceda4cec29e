import { thumbnail } from './landing/thumbnails.ts';
import { LESSONS, type Lesson } from './lessons.ts';
import { explainTerms } from './lib/terms.ts';

/**
 * The frame of every lesson: its picture at the top; below the text, a sentence that leads to the next one, and links to it
 * and the one before; and the glossary's terms explained in the text.
 */
const page =
  location.pathname
    .split('/')
    .at(-1)
    ?.replace(/\.html$/, '') ?? '';
const at = LESSONS.findIndex((lesson) => lesson.page === page);
const links = document.getElementById('neighbours');

function link(href: string, text: string): HTMLElement {
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.textContent = text;
  return anchor;
}

/** A link to another lesson; to the front page, which has the planner, before the first and after the last. */
function toLesson(other: Lesson | undefined, label: string): HTMLElement {
  if (other === undefined) return link('./index.html', label === 'Next' ? 'Next: the planner' : 'All lessons');
  return link(`./${other.page}.html`, `${label}: ${other.title}`);
}

/** The last sentence of the lesson. */
function leads({ leads: text }: Lesson): HTMLElement {
  const sentence = document.createElement('p');
  sentence.className = 'leads';
  sentence.textContent = text;
  return sentence;
}

/** The lesson's picture, as on the front page. */
function opening({ page: name }: Lesson): SVGSVGElement {
  const picture = thumbnail(name);
  picture.classList.add('opening');
  return picture;
}

const lesson = LESSONS[at];
if (lesson !== undefined) {
  document.querySelector('main')?.prepend(opening(lesson));
  links?.before(leads(lesson));
}
links?.append(toLesson(LESSONS[at - 1], 'Before'), toLesson(LESSONS[at + 1], 'Next'));
explainTerms(document);
