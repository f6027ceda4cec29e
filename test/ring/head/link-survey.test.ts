import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DeviceLostError, LinkLostError } from '../../../engine/ring/head/errors.ts';
import { surveyLinks } from '../../../engine/ring/head/link-survey.ts';

const WORKERS = ['a', 'b', 'c'];

/** A head whose ring fails at the first link between two devices that don't reach each other. */
function head(...apart: readonly (readonly [string, string])[]) {
  const tried: string[] = [];
  const readmitted: string[] = [];
  let stops: string[] = [];
  return {
    tried,
    readmitted,
    async assemble({ windows }: { readonly windows: readonly { readonly device: string }[] }) {
      stops = windows.map(({ device }) => device);
      tried.push(stops.join(' '));
      for (const [index, to] of stops.entries()) {
        const from = stops[index - 1];
        const fails = apart.some((pair) => from !== undefined && pair.includes(from) && pair.includes(to));
        if (fails) throw new LinkLostError(from as string, to, 'nobody listens');
      }
    },
    async measure() {
      return stops.slice(1).map((to, index) => ({ from: stops[index] as string, to, latency: 1e-3, bandwidth: 1e8 }));
    },
    readmit: (device: string) => void readmitted.push(device),
  };
}

test('where all workers reach the next, one ring in their order is measured', async () => {
  const here = head();
  const { order, links, unreachable } = await surveyLinks(here, { own: 'h', workers: WORKERS }, assert.unreachable);
  assert.equal([order, links.length, unreachable], [WORKERS, 2, []]);
  assert.equal(here.tried, ['a b c']);
});

test('a worker that another one doesn’t reach gets another place, and is said', async () => {
  const here = head(['b', 'c']);
  const lines: string[] = [];
  const found = await surveyLinks(here, { own: 'h', workers: WORKERS }, (line) => lines.push(line));
  assert.equal(found.order, ['b', 'a', 'c']);
  assert.equal(found.unreachable, [['b', 'c']]);
  assert.equal(here.readmitted, ['c']);
  assert.equal(lines, ['b doesn’t reach c (nobody listens); tries other ways']);
});

test('where no order avoids that, the head stands between', async () => {
  const here = head(['a', 'b'], ['b', 'c'], ['a', 'c']);
  const found = await surveyLinks(here, { own: 'h', workers: WORKERS }, () => {});
  assert.is(found.unreachable.length, 3);
  assert.is(here.tried.at(-1), 'a h b h c');
});

test('a device that is lost ends the survey', async () => {
  const gone = {
    assemble: () => Promise.reject(new DeviceLostError('b', 'gone')),
    measure: async () => [],
    readmit: assert.unreachable,
  };
  const error = await surveyLinks(gone, { own: 'h', workers: WORKERS }, () => {}).catch((one: Error) => one);
  assert.is((error as Error).message, 'b: gone');
});

test.run();
