import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { subsetsWithHead } from '../../../experiments/halda-sweep/subsets.ts';

test('subsets are all sets of devices with the head, smallest first, in ring order', () => {
  assert.equal(
    subsetsWithHead(['A', 'B', 'C', 'D']).map((set) => set.join('')),
    ['A', 'AB', 'AC', 'AD', 'ABC', 'ABD', 'ACD', 'ABCD'],
  );
  assert.equal(subsetsWithHead(['A']), [['A']]);
  assert.equal(subsetsWithHead([]), []);
});

test('n devices have 2ⁿ⁻¹ different sets', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 7 }), (names) => {
      const sets = subsetsWithHead(names);
      assert.is(new Set(sets.map((set) => JSON.stringify(set))).size, 2 ** (names.length - 1));
      assert.ok(sets.every(([head]) => head === names[0]));
    }),
    { seed: 1 },
  );
});

test.run();
