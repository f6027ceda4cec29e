// The page's program: a conversation over the server's own API. It keeps the key and the conversation in memory alone.
import { showRing } from './ring.js';

const element = (id) => document.getElementById(id);
const [turns, text, send, stop] = ['turns', 'text', 'send', 'stop'].map(element);

/** Milliseconds between looks at the server's load. */
const LOOK = 1000;

let key = '';
let messages = [];
let running;

/** Asks the server, with the key if there is one; shows the form for it where it is wrong or missing. */
async function ask(path, options = {}) {
  const authorization = key === '' ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(path, { ...options, headers: { ...options.headers, ...authorization } });
  if (response.status === 401) element('key-form').hidden = false;
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new Error(error?.message ?? `the server answered with ${response.status}`);
}

/** The events of a response, as they come. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('the server closed the connection');
    const lines = (rest + value).split('\n\n');
    rest = lines.pop();
    for (const line of lines) {
      const data = line.replace(/^data: /, '');
      if (data === '[DONE]') return;
      yield JSON.parse(data);
    }
  }
}

function addTurn(role, content) {
  element('hint').hidden = true;
  const article = document.createElement('article');
  article.className = role;
  article.append(content);
  turns.append(article);
  turns.scrollTop = turns.scrollHeight;
  return article;
}

/** A line below a turn. */
function note(article, line, className = '') {
  const paragraph = document.createElement('p');
  paragraph.className = className;
  paragraph.textContent = line;
  article.append(paragraph);
  turns.scrollTop = turns.scrollHeight;
}

async function answer(content) {
  addTurn('user', content);
  const begun = messages;
  const asked = [...begun, { role: 'user', content }];
  const article = addTurn('assistant busy', '');
  const said = article.appendChild(document.createTextNode(''));
  const controller = new AbortController();
  running = controller;
  show(true);
  let thoughts;
  let first;
  let last;
  let pieces = 0;
  let reason = 'stopped';
  try {
    const body = JSON.stringify({ messages: asked, stream: true, stream_options: { include_usage: true } });
    const headers = { 'content-type': 'application/json' };
    const response = await ask('/v1/chat/completions', { method: 'POST', headers, body, signal: controller.signal });
    for await (const { choices, usage, error } of events(response)) {
      if (error) throw new Error(error.message);
      reason = choices[0]?.finish_reason ?? reason;
      const { content: more = '', reasoning_content: thought = '' } = choices[0]?.delta ?? {};
      if (more + thought !== '') {
        first ??= performance.now();
        const atEnd = turns.scrollHeight - turns.scrollTop - turns.clientHeight < 40;
        said.data += more;
        if (thought !== '') {
          thoughts ??= addThoughts(article, said);
          thoughts.data += thought;
        }
        if (atEnd) turns.scrollTop = turns.scrollHeight;
        last = performance.now();
        if (pieces++ > 0) showSpeed(pieces, last - first);
      }
      if (usage?.completion_tokens > 1) showSpeed(usage.completion_tokens, last - first);
      if (usage)
        note(article, `${usage.prompt_tokens} + ${usage.completion_tokens} tokens, ${reasons[reason] ?? reason}`);
    }
  } catch (error) {
    const stopped = error.name === 'AbortError';
    note(article, stopped ? 'stopped' : error.message, stopped ? '' : 'error');
  }
  article.classList.remove('busy');
  running = undefined;
  show(false);
  if (messages !== begun) return; // a new chat has begun meanwhile
  if (said.data !== '') messages = [...asked, { role: 'assistant', content: said.data }];
  else if (text.value === '') text.value = content; // to try again
}

/** The text of a model's thoughts, which opens and closes before its answer. */
function addThoughts(article, answer) {
  const details = article.insertBefore(document.createElement('details'), answer);
  details.appendChild(document.createElement('summary')).textContent = 'thoughts';
  return details.appendChild(document.createTextNode(''));
}

const reasons = { stop: 'ended', length: 'cut off: no room left' };

/** Tokens per second after the first, in so many milliseconds. */
function showSpeed(tokens, milliseconds) {
  if (milliseconds > 0) element('speed').textContent = `${((1000 * (tokens - 1)) / milliseconds).toFixed(1)} tokens/s`;
}

function show(busy) {
  send.hidden = busy;
  stop.hidden = !busy;
  if (!busy) text.focus();
}

async function look() {
  if (document.hidden) return;
  try {
    const { load } = await (await ask('/health')).json();
    if (load === undefined) return;
    element('running').textContent = load.running;
    element('waiting').textContent = load.waiting;
    element('pages').textContent = `${load.pages - load.freePages} of ${load.pages}`;
    element('rate').textContent = `${load.tokensPerSecond.toFixed(1)} tokens/s`;
  } catch {
    for (const id of ['running', 'waiting', 'pages', 'rate']) element(id).textContent = '–';
  }
}

/** Looks at the ring, if the model runs on one; after that once a second. */
async function lookAtRing() {
  if (document.hidden) return true;
  try {
    const state = await (await ask('/ring')).json();
    if (state !== null) showRing(state);
    return state !== null;
  } catch {
    return true; // the server, or its key, may come back
  }
}

async function watchRing() {
  if (await lookAtRing()) setTimeout(watchRing, LOOK);
}

async function showModel() {
  try {
    const { data } = await (await ask('/v1/models')).json();
    element('model').textContent = data[0].id;
    element('key-form').hidden = true;
  } catch (error) {
    element('model').textContent = error.message;
  }
}

element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const content = text.value.trim();
  if (content === '' || running !== undefined) return;
  text.value = '';
  answer(content);
});
text.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  element('form').requestSubmit();
});
stop.addEventListener('click', () => running?.abort());
element('new').addEventListener('click', () => {
  running?.abort();
  messages = [];
  for (const article of turns.querySelectorAll('article')) article.remove();
  element('hint').hidden = false;
  text.focus();
});
element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  key = element('key').value;
  showModel();
});

showModel();
look();
setInterval(look, LOOK);
watchRing();
