import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgelessHistory, createHistory, refaultingSpans } from '../../../simulator/page-cache/history.ts';

const bytesOf = (from: number, to: number): number => 10 * (to - from);

for (const [name, create] of [
  ['with ages', createHistory],
  ['without ages', createAgelessHistory],
] as const) {
  test(`a history ${name} distinguishes reclaimed from released extents until they are read again`, () => {
    const history = create();
    history.record({ from: 0, to: 4, age: 0 });
    history.record({ from: 6, to: 8, age: undefined });
    assert.equal(history.count({ from: 2, to: 7 }, bytesOf), { reclaimed: 20, dropped: 30 });
    history.forget({ from: 1, to: 3 });
    assert.equal(history.count({ from: 0, to: 8 }, bytesOf), { reclaimed: 20, dropped: 40 });
  });
}

test('spans reclaimed in one sweep are merged', () => {
  const history = createHistory();
  history.record({ from: 0, to: 2, age: 5 });
  history.record({ from: 2, to: 4, age: 7 });
  history.record({ from: 4, to: 5, age: 12 });
  assert.equal(history.find({ from: 1, to: 5 }), [
    { from: 1, to: 4, age: 6 },
    { from: 4, to: 5, age: 12 },
  ]);
});

test('an extent refaults if it was reclaimed at most as many extents ago as the active list holds', () => {
  const history = createHistory();
  history.record({ from: 0, to: 4, age: 10 });
  const read = { history, span: { from: 0, to: 4 }, free: 100 };
  // Distances 6, 5, 4 and 3.
  assert.equal(refaultingSpans({ ...read, age: 16, activeExtents: 6 }), [{ from: 0, to: 4 }]);
  assert.equal(refaultingSpans({ ...read, age: 16, activeExtents: 4 }), [{ from: 2, to: 4 }]);
  assert.equal(refaultingSpans({ ...read, age: 16, activeExtents: 2 }), []);
});

test('without room each extent read reclaims another, and distances grow along the span', () => {
  const history = createHistory();
  history.record({ from: 4, to: 6, age: 10 });
  const read = { history, span: { from: 0, to: 6 }, age: 13, activeExtents: 4 };
  assert.equal(refaultingSpans({ ...read, free: 3 }), [{ from: 4, to: 6 }]);
  assert.equal(refaultingSpans({ ...read, free: 0 }), []);
});

test('released extents don’t refault', () => {
  const history = createHistory();
  history.record({ from: 0, to: 4, age: undefined });
  assert.equal(refaultingSpans({ history, span: { from: 0, to: 4 }, age: 0, free: 9, activeExtents: 9 }), []);
});

test.run();
