import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

const server = await alphabetServer();
test.after(() => server.stop());

const ROWS = readFileSync('docs/reference/endpoints.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => [...(line.split('|')[1] as string).matchAll(/`([A-Z]+ [^`]+)`/g)].map(([, one]) => one as string));

test("docs/reference/endpoints.md has the server's routes, each once", () => {
  assert.ok(server.routes.length > 30);
  assert.equal(ROWS.flat().sort(), [...server.routes].sort());
});

test('paths of one row answer alike', async () => {
  for (const row of ROWS.filter((one) => one.some((path) => path.startsWith('POST /v1/')))) {
    const answers = await Promise.all(
      row.map(async (one) => {
        const answer = await server.post(one.replace('POST ', ''), { model: 'another' });
        return [answer.status, await answer.text()];
      }),
    );
    for (const answer of answers) assert.equal(answer, answers[0], row.join(', '));
  }
});

test.run();
