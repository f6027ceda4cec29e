import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addSpan, removeSpan, type Span, splitBySet } from '../../../simulator/page-cache/extents.ts';
import { createAgelessHistory, createHistory } from '../../../simulator/page-cache/history.ts';
import { createRunList, createRunMap, NO_MARKS, type RunList } from '../../../simulator/page-cache/runs.ts';

const bytesOf = (from: number, to: number): number => 10 * (to - from);

/** Spans of a list, least recent first. */
function spansOf(list: RunList): string {
  const spans: string[] = [];
  for (let run = list.oldest; run !== undefined; run = run.newer) spans.push(`${run.from}–${run.to}`);
  return spans.join(' ');
}

test('runs that are adjacent in position and recency are merged', () => {
  const runs = createRunMap(bytesOf);
  const list = createRunList();
  runs.add({ from: 0, to: 2 }, list, NO_MARKS);
  runs.add({ from: 2, to: 4 }, list, NO_MARKS);
  assert.is(spansOf(list), '0–4');
  runs.add({ from: 7, to: 9 }, list, NO_MARKS);
  runs.add({ from: 4, to: 6 }, list, NO_MARKS);
  assert.is(spansOf(list), '0–4 7–9 4–6');
  runs.visit(
    { from: 7, to: 9 },
    () => true,
    (run) => runs.toNewest(run, list),
  ); // no longer between the others
  assert.is(spansOf(list), '0–6 7–9');
  runs.add({ from: 6, to: 7 }, list, { ...NO_MARKS, young: true }); // other marks, so a run of its own
  assert.is(spansOf(list), '0–6 7–9 6–7');
  assert.is(list.bytes, 90);
  assert.equal(
    runs.all.map(({ from, to }) => [from, to]),
    [
      [0, 6],
      [6, 7],
      [7, 9],
    ],
  );
});

test('cutting a run keeps its order, with the lower extent less recent', () => {
  const runs = createRunMap(bytesOf);
  const list = createRunList();
  const other = createRunList();
  runs.add({ from: 0, to: 9 }, list, NO_MARKS);
  runs.visit(
    { from: 3, to: 5 },
    () => true,
    (run) => runs.toNewest(run, list),
  );
  assert.is(spansOf(list), '0–3 5–9 3–5');
  runs.visit(
    { from: 2, to: 4 },
    () => true,
    (run) => runs.toNewest(run, other),
  );
  assert.is(spansOf(list), '0–2 5–9 4–5');
  assert.is(spansOf(other), '2–4');
  assert.equal([list.bytes, other.bytes], [70, 20]);
  const oldest = list.oldest;
  if (oldest !== undefined) runs.remove(oldest, 1);
  assert.is(spansOf(list), '1–2 5–9 4–5');
});

test('a file of any size that is read repeatedly in chunks has few runs', () => {
  const runs = createRunMap(bytesOf);
  const list = createRunList();
  for (let position = 0; position < 100; position++) {
    const from = (position * 10) % 250;
    runs.visit(
      { from, to: from + 10 },
      () => true,
      (run) => runs.toNewest(run, list),
    );
    if (position < 25) runs.add({ from, to: from + 10 }, list, NO_MARKS);
    assert.ok(runs.all.length <= 2, String(runs.all.length));
  }
});

test('a set merges touching spans and divides a range at its borders', () => {
  const set: Span[] = [];
  addSpan(set, { from: 2, to: 4 });
  addSpan(set, { from: 8, to: 9 });
  addSpan(set, { from: 4, to: 6 });
  assert.equal(set, [
    { from: 2, to: 6 },
    { from: 8, to: 9 },
  ]);
  assert.equal(splitBySet(set, { from: 0, to: 8 }), [
    { from: 0, to: 2, inside: false },
    { from: 2, to: 6, inside: true },
    { from: 6, to: 8, inside: false },
  ]);
  addSpan(set, { from: 5, to: 8 });
  addSpan(set, { from: 3, to: 3 });
  assert.equal(set, [{ from: 2, to: 9 }]);
  removeSpan(set, { from: 3, to: 5 });
  assert.equal(set, [
    { from: 2, to: 3 },
    { from: 5, to: 9 },
  ]);
});

test('a history without ages distinguishes reclaimed from released, in the longest spans', () => {
  const history = createAgelessHistory();
  history.record({ from: 2, to: 4, age: 10 });
  history.record({ from: 6, to: 8, age: undefined });
  history.record({ from: 4, to: 6, age: 3 });
  assert.equal(history.find({ from: 3, to: 9 }), [
    { from: 3, to: 6, age: 0 },
    { from: 6, to: 8, age: undefined },
  ]);
  history.forget({ from: 3, to: 7 });
  assert.equal(history.find({ from: 0, to: 9 }), [
    { from: 2, to: 3, age: 0 },
    { from: 7, to: 8, age: undefined },
  ]);
});

test('a history records the age of each reclaimed extent until it is read again', () => {
  const history = createHistory();
  history.record({ from: 2, to: 4, age: 10 });
  history.record({ from: 4, to: 6, age: 12 }); // right after the first two
  history.record({ from: 6, to: 7, age: undefined });
  assert.equal(history.find({ from: 3, to: 9 }), [
    { from: 3, to: 6, age: 11 },
    { from: 6, to: 7, age: undefined },
  ]);
  history.forget({ from: 3, to: 5 });
  assert.equal(history.find({ from: 0, to: 9 }), [
    { from: 2, to: 3, age: 10 },
    { from: 5, to: 6, age: 13 },
    { from: 6, to: 7, age: undefined },
  ]);
});

test.run();
