import type { FastifyInstance } from 'fastify';
import { LINES_TYPE } from './event-stream.ts';
import { CHANGES, ollamaFacts, PULLED, readNamed, refuseChange } from './forms/ollama-model.ts';
import type { ServedModel } from './served-model.ts';

/** The version of Ollama's API that this server's answers follow. */
const VERSION = '0.13.0';

/** Endpoints of Ollama's API that generate nothing and are served. */
export const OLLAMA_FACTS = [
  ...['GET /api/tags', 'GET /api/ps', 'GET /api/version'],
  ...['POST /api/show', 'POST /api/pull'],
] as const;

/** Adds them, and refusals of those that change which models there are. */
export function addOllamaFacts(app: FastifyInstance, model: ServedModel): void {
  const facts = ollamaFacts(model);
  app.get('/api/tags', async () => facts.tags);
  app.get('/api/ps', async () => facts.running);
  app.get('/api/version', async () => ({ version: VERSION }));
  app.post('/api/show', async ({ body }) => {
    readNamed(model, body);
    return facts.shown;
  });
  app.post('/api/pull', async ({ body }, reply) => {
    if (!readNamed(model, body).stream) return PULLED.at(-1);
    reply.header('content-type', LINES_TYPE);
    return Buffer.from(PULLED.map((report) => `${JSON.stringify(report)}\n`).join(''));
  });
  for (const change of CHANGES) {
    const [method, url] = change.split(' ') as ['POST' | 'DELETE', string];
    app.route({ method, url, handler: refuseChange });
  }
}
