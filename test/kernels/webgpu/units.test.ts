import { test } from 'uvu';
import { testChecks } from '../../support/gpu.ts';
import { UNIT_CHECKS } from './unit-checks.ts';

testChecks(UNIT_CHECKS);

testPackedGpu('prepared operations do what `run` does, at other positions and with other tokens', async (kernels) => {
  const pass = () => {
    const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 4, headSize: 32 });
    const table = kernels.matrix({ source: weights('Q8_0', 8, 1), type: 'Q8_0', rows: 8, columns: COLUMNS });
    const matrix = kernels.matrix({ source: weights('Q4_K', 32, 2), type: 'Q4_K', rows: 32, columns: COLUMNS });
    const [x, k, y] = [kernels.vector(COLUMNS), kernels.vector(32), kernels.vector(32)];
    const operations = (token: number, position: number): Operation[] => [
      { kind: 'embed', table, tokens: [token], y: x },
      { kind: 'rms-norm', x, weight: kernels.vector(new Float32Array(COLUMNS).fill(2)), y: x, epsilon: 1e-5 },
      { kind: 'multiply', matrix, x, y: k },
      { kind: 'store', cache, keys: k, values: k, position },
      { kind: 'attention', cache, queries: k, y, heads: 1, position, scale: 0.1 },
    ];
    return { operations, y };
  };
  const [own, other] = [pass(), pass()];
  const again = kernels.prepare?.(own.operations(0, 0));
  for (const [token, position] of [
    [1, 0],
    [7, 1],
    [5, 3],
  ] as const) {
    again?.run([token], position);
    kernels.run(other.operations(token, position));
    await kernels.read(own.y);
    await kernels.read(other.y);
    assert.equal([...own.y.values], [...other.y.values], `${token} at ${position}`);
    assert.ok(own.y.values.every((value) => value !== 0));
  }
  assert.throws(() => again?.run([1], 4), 'position 4 of prepared operations');
});

test.run();
