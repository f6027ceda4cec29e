import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { spreadOrder } from '../../../engine/runtime/weights/memory-budget.ts';

test('eight items are spread', () => {
  assert.equal(spreadOrder(8), [0, 5, 2, 7, 4, 1, 6, 3]);
});

test('any prefix is spread evenly, with gaps that differ at most by a factor of three', () => {
  for (const count of [16, 22, 32, 80]) {
    const order = spreadOrder(count);
    assert.equal(
      order.toSorted((a, b) => a - b),
      Array.from({ length: count }, (_, i) => i),
    );
    for (let taken = 3; taken <= count; taken++) {
      const places = order.slice(0, taken).sort((a, b) => a - b);
      const gaps = places.slice(1).map((place, i) => place - (places[i] as number));
      assert.ok(Math.max(...gaps) <= 3 * Math.min(...gaps), `${taken} of ${count}: ${places.join()}`);
    }
  }
});

test.run();
