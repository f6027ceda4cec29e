import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../../datasets/load.ts';
import { TESTBEDS, testbedNamed, trueCluster } from '../../../datasets/testbeds.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { PROTOCOL, primaProblem } from '../../../experiments/consistency/prima-problem.ts';
import { shown } from '../../../experiments/consistency/problem.ts';
import { chooseValues } from '../../../experiments/consistency/search.ts';
import { fittedTo } from '../../../experiments/consistency/study.ts';
import { UNKNOWN_TESTBEDS } from '../../../experiments/consistency/testbeds.ts';

const solver = await loadIntegerSolver(20);
test.after(() => solver.dispose());

for (const unknown of UNKNOWN_TESTBEDS) {
  const problem = primaProblem(unknown, PROTOCOL.planner, solver, PROTOCOL.tolerance);
  const chosen = chooseValues(problem);

  test(`${unknown.cluster}: the tables are reproduced with the values that the search chooses`, () => {
    const texts = (values: typeof chosen) =>
      problem.unknowns.map(({ name, unit, prior }) => `${name} ${shown(values[name] ?? prior)} ${unit}`);
    assert.equal(texts(problem.used), texts(chosen));
  });

  test(`${unknown.cluster}: exactly the cells that values are fitted to are named`, () => {
    const fitted = new Set(problem.unknowns.flatMap((one) => fittedTo(problem, one, chosen).map(({ name }) => name)));
    const named = new Set(testbedNamed(unknown.cluster).unknowns.flatMap(({ seen }) => seen));
    assert.equal([...named].sort(), [...fitted].sort());
  });
}

test('every testbed with an inferred value is studied, or is a variant of one that is', () => {
  const studied = new Set(UNKNOWN_TESTBEDS.map(({ cluster }) => cluster));
  const variants = TESTBEDS.filter(
    ({ unknowns, name }) => unknowns.some(({ status }) => status === 'inferred') && !studied.has(name),
  );
  assert.equal(
    variants.map(({ name }) => name),
    ['prima-home-6', 'prima-home-metal'],
  );
  for (const { unknowns } of variants) assert.is(unknowns, testbedNamed('prima-home').unknowns);
  // App. A.10 has the Mac mini of App. A.4, whose memory is inferred there.
  const macOf = (name: string) => testbedNamed(name).unknowns.find(({ kind }) => kind === 'ram');
  const [inferred, assumed] = [macOf('prima-a4'), macOf('prima-a10')];
  assert.equal(assumed, { ...inferred, status: 'assumed', source: assumed?.source, seen: [] });
});

test('no device has more memory for a model than is installed', () => {
  for (const { cluster } of UNKNOWN_TESTBEDS) {
    const testbed = testbedNamed(cluster);
    for (const { name, memory } of trueCluster(testbed, loadCluster(testbed.belief)).devices)
      assert.ok(memory.available <= memory.total, `${cluster} ${name}`);
  }
});

test.run();
