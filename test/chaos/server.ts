import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { RandomStream } from '../../engine/input/random-stream.ts';
import { freePort } from '../support/free-port.ts';
import { pause, STARTED, startHearth, type TimedProcess, until, within } from './process.ts';
import type { Subject } from './subject.ts';

const MODEL = 'datasets/models/stories-3m.gguf';
/** Enough for a second of writing. */
const BODY = { prompt: 'Once upon a time', max_tokens: 200, temperature: 0 };
/** Clients of a round, half of which read their answer as a stream. */
const CLIENTS = 4;
/** Clients that read nothing, and what each asks for: requests for the page's code, and a long stream. */
const DEAF = 12;
const PIPELINED = 64;
/** Longest time of an answer, with a machine that does other things too. */
const MOST_SECONDS = 60;
/** Seconds after a server's end by which its clients know. */
const KNOWN_WITHIN = 5;
/** Seconds by which connections of clients that have gone are closed. */
const SETTLED_WITHIN = 10;

const FAULTS = {
  'kill-server': 'SIGKILL of a server that writes, and a start anew at the same port',
  'end-server': 'SIGTERM of a server that writes: what is under way is written to its end',
  'deaf-clients': 'clients that ask for much and read nothing',
  'leaving-clients': 'clients that go away while they are answered',
};

/** The part of an answer that a client has. */
interface Answer {
  readonly text: string;
  /** Whether the answer says that it is whole: its stream or its body has ended as it should. */
  readonly isWhole: boolean;
}

interface Server {
  readonly process: TimedProcess;
  readonly port: number;
}

/** Two servers of a small model: one is killed again and again, the other one is watched. */
export async function openServers(random: RandomStream): Promise<Subject> {
  let struck = await start(await freePort());
  const watched = await start(await freePort());
  const first = await ask(watched.port, true);
  const expected = first.text;

  /** Judges answers. @returns how many are whole, and what broke a promise */
  const judge = (answers: readonly (Answer | undefined)[], mayEnd: boolean) => {
    const broken = answers.flatMap((answer) => {
      if (answer === undefined) return ['a client waits for its answer for ever'];
      if (answer.isWhole && answer.text !== expected) return [`half an answer is called whole: ${tail(answer.text)}`];
      if (!answer.isWhole && !mayEnd) return [`an answer was broken off: ${tail(answer.text)}`];
      return expected.startsWith(answer.text) ? [] : [`another text: ${tail(answer.text)}`];
    });
    const whole = answers.filter((answer) => answer?.isWhole).length;
    return { whole, brokenOff: answers.length - whole, broken };
  };
  const clients = ({ port }: Server): Promise<Answer>[] =>
    Array.from({ length: CLIENTS }, (_, index) => ask(port, index % 2 === 0));
  const all = (answers: readonly Promise<Answer>[], seconds: number) =>
    Promise.all(answers.map((answer) => within(seconds, answer)));

  const rounds: Record<keyof typeof FAULTS, () => Promise<ReturnType<typeof judge>>> = {
    async 'kill-server'() {
      const answers = clients(struck);
      await pause(random.uniform(0, 1.5));
      struck.process.signal('SIGKILL');
      const judged = judge(await all(answers, KNOWN_WITHIN), true);
      await struck.process.ended;
      struck = await start(struck.port);
      const again = judge([await within(MOST_SECONDS, ask(struck.port, true))], false);
      return { ...judged, whole: judged.whole + again.whole, broken: [...judged.broken, ...again.broken] };
    },
    async 'end-server'() {
      const answers = clients(struck);
      await pause(random.uniform(0.2, 1));
      struck.process.signal('SIGTERM');
      // What had not arrived yet is refused.
      const judged = judge(await all(answers, MOST_SECONDS), true);
      const halves = (await Promise.all(answers)).filter(({ text, isWhole }) => text !== '' && !isWhole);
      const ended = await within(MOST_SECONDS, struck.process.ended);
      const broken = [
        ...judged.broken,
        ...halves.map(({ text }) => `an answer under way was broken off: ${tail(text)}`),
        ...(ended?.code === 0 ? [] : [`SIGTERM ended the server with ${ended === undefined ? 'nothing' : ended.code}`]),
      ];
      struck.process.signal('SIGKILL');
      struck = await start(struck.port);
      return { ...judged, broken };
    },
    async 'deaf-clients'() {
      const deaf = Array.from({ length: DEAF }, (_, index) => openDeaf(watched.port, index % 2 === 0));
      await pause(0.2);
      const judged = judge(await all(clients(watched), MOST_SECONDS), false);
      await pause(random.uniform(0, 3));
      for (const socket of deaf) socket.destroy();
      return { ...judged, broken: [...judged.broken, ...(await unsettled(watched))] };
    },
    async 'leaving-clients'() {
      const leaving = Array.from({ length: CLIENTS }, () => openDeaf(watched.port, false));
      const answers = clients(watched);
      await pause(random.uniform(0, 1));
      for (const socket of leaving) socket.destroy();
      const judged = judge(await all(answers, MOST_SECONDS), false);
      return { ...judged, broken: [...judged.broken, ...(await unsettled(watched))] };
    },
  };
  return {
    faults: FAULTS,
    round: (fault) => rounds[fault as keyof typeof FAULTS](),
    watched: [{ name: 'the watched server', pid: watched.process.pid }],
    async close() {
      for (const { process } of [struck, watched]) process.signal('SIGKILL');
    },
  };
}

async function start(port: number): Promise<Server> {
  const process = startHearth('serve', '--model', MODEL, '--port', String(port), '--threads', '1', '--context', '256');
  const serves = (): boolean => process.lines.some(({ text }) => text.startsWith('serves '));
  await until(STARTED, () => serves() || process.code !== undefined);
  if (!serves()) throw new Error(`a server does not start: ${process.lines.map(({ text }) => text).join('; ')}`);
  return { process, port };
}

/** Asks for a text, and waits for the end of the answer, however it ends. */
function ask(port: number, stream: boolean): Promise<Answer> {
  return new Promise((resolve) => {
    const none = (): void => resolve({ text: '', isWhole: false });
    const headers = { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port, path: '/v1/completions', method: 'POST', headers, agent: false };
    const sent = httpRequest(options, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      response.on('error', () => {}).on('close', () => resolve(answerOf(response, body, stream)));
    });
    sent.on('error', none).end(JSON.stringify({ ...BODY, stream }));
  });
}

function answerOf({ statusCode, complete }: IncomingMessage, body: string, stream: boolean): Answer {
  if (statusCode !== 200) return { text: '', isWhole: false };
  if (!stream) {
    if (!complete) return { text: '', isWhole: false };
    return { text: JSON.parse(body).choices[0].text, isWhole: true };
  }
  const events = body.split('\n\n').slice(0, -1);
  const parts = events.filter((event) => event.startsWith('data: {')).map((event) => JSON.parse(event.slice(6)));
  const text = parts.map(({ choices }) => choices[0]?.text ?? '').join('');
  const isFinished = parts.some(({ choices }) => typeof choices[0]?.finish_reason === 'string');
  return { text, isWhole: isFinished || events.at(-1) === 'data: [DONE]' };
}

/** A connection that asks and reads nothing. */
function openDeaf(port: number, pipelines: boolean): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  const body = JSON.stringify({ ...BODY, stream: true });
  const head = 'host: localhost\r\n';
  const text = `POST /v1/completions HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  socket.on('error', () => {}); // the server may close it
  socket.write(pipelines ? `GET /page.js HTTP/1.1\r\n${head}\r\n`.repeat(PIPELINED) : text);
  return socket;
}

/** Waits until a server has no text to write. @returns what is wrong if it goes on for clients that have gone */
async function unsettled({ port }: Server): Promise<string[]> {
  let load = '';
  const end = performance.now() + 1000 * SETTLED_WITHIN;
  while (performance.now() < end) {
    load = await healthOf(port);
    if (/"running":0\b/.test(load) && /"waiting":0\b/.test(load)) return [];
    await pause(0.1);
  }
  return [`a server writes for clients that have gone: ${load}`];
}

function healthOf(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: 'close' } }).then(
    (answer) => answer.text(),
    (error: Error) => error.message,
  );
}

function tail(text: string): string {
  return `…${JSON.stringify(text.slice(-40))} (${text.length} characters)`;
}
