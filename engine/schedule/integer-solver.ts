import loadHighs, { type ModelData } from 'highs';

/**
 * A mixed-integer linear program: minimise Σ cost·x, where lower ≤ x ≤ upper for each column, and
 * lower ≤ Σ coefficient·x ≤ upper for each row.
 */
export interface IntegerProgram {
  readonly columns: readonly ProgramColumn[];
  readonly rows: readonly ProgramRow[];
}

/** A variable of an integer program: its cost and bounds. */
export interface ProgramColumn {
  readonly cost: number;
  readonly lower: number;
  readonly upper: number;
  readonly integer: boolean;
}

/** A constraint of an integer program: bounds of a sum. */
export interface ProgramRow {
  readonly lower: number;
  readonly upper: number;
  /** Column index and coefficient; a column at most once. */
  readonly entries: readonly (readonly [column: number, coefficient: number])[];
}

/** The values of the columns, integer columns rounded; or why there are none. */
export type ProgramSolution =
  | { readonly status: 'optimal'; readonly values: Float64Array }
  | { readonly status: 'infeasible' }
  | { readonly status: 'failed'; readonly reason: string };

/** An exact solver for mixed-integer linear programs: HiGHS, gap 0. Synchronous once it is loaded. */
export interface IntegerSolver {
  /** The solution of least cost. */
  solve(program: IntegerProgram): ProgramSolution;
  /** Frees the solver's memory. */
  dispose(): void;
}

/** How far an integer column's value may lie from a whole number; HiGHS uses the same tolerance. */
const INTEGRALITY = 1e-6;

/**
 * Loads HiGHS (about 0.1 s). A program is first solved without integrality. If the solution is whole, as it is for
 * totally unimodular programs such as Halda's, it is the answer, in a tenth of the time.
 * @param timeLimit seconds that one program may take; then its status is `failed`
 */
export async function loadIntegerSolver(timeLimit = 60): Promise<IntegerSolver> {
  const highs = await loadHighs();
  const { modelStatus } = highs.constants;
  const create = (options: Record<string, string | number | boolean>) => {
    const model = highs.createModel();
    model.options.set({ output_flag: false, time_limit: timeLimit, ...options });
    return model;
  };
  const relaxed = create({ presolve: 'off', solver: 'simplex' });
  const whole = create({ mip_rel_gap: 0, mip_abs_gap: 0 });
  const run = (model: typeof relaxed, data: ModelData): ProgramSolution => {
    model.zeroAllClocks();
    model.passModel(data);
    model.run();
    const status = model.getModelStatus();
    if (status === modelStatus.optimal)
      return { status: 'optimal', values: Float64Array.from(model.getSolution().colValue) };
    if (status === modelStatus.infeasible || status === modelStatus.unboundedOrInfeasible)
      return { status: 'infeasible' };
    const name = Object.entries(modelStatus).find(([, code]) => code === status)?.[0] ?? `status ${status}`;
    return { status: 'failed', reason: `HiGHS ended with "${name}"` };
  };
  return {
    dispose() {
      relaxed.dispose();
      whole.dispose();
    },
    solve(program) {
      if (program.columns.some((column) => column.lower > column.upper)) return { status: 'infeasible' };
      const data = modelData(program, highs.infinity);
      const first = run(relaxed, data);
      if (first.status === 'infeasible' || (first.status === 'optimal' && isWhole(program, first.values)))
        return rounded(program, first);
      const integrality = Int32Array.from(program.columns, (column) => (column.integer ? 1 : 0));
      return rounded(program, run(whole, { ...data, integrality }));
    },
  };
}

function isWhole({ columns }: IntegerProgram, values: Float64Array): boolean {
  return columns.every(({ integer }, index) => {
    const value = values[index] as number;
    return !integer || Math.abs(value - Math.round(value)) <= INTEGRALITY;
  });
}

function rounded({ columns }: IntegerProgram, solution: ProgramSolution): ProgramSolution {
  if (solution.status !== 'optimal') return solution;
  return {
    status: 'optimal',
    values: solution.values.map((value, index) => (columns[index]?.integer ? Math.round(value) : value)),
  };
}

/** The program in compressed rows, the form that HiGHS reads. */
function modelData({ columns, rows }: IntegerProgram, infinity: number): ModelData {
  const starts = new Int32Array(rows.length + 1);
  const indices: number[] = [];
  const values: number[] = [];
  rows.forEach((row, index) => {
    for (const [column, coefficient] of row.entries) {
      indices.push(column);
      values.push(coefficient);
    }
    starts[index + 1] = indices.length;
  });
  const bound = (value: number): number => (Number.isFinite(value) ? value : Math.sign(value) * infinity);
  return {
    numCols: columns.length,
    numRows: rows.length,
    colCost: columns.map((column) => column.cost),
    colLower: columns.map((column) => bound(column.lower)),
    colUpper: columns.map((column) => bound(column.upper)),
    rowLower: rows.map((row) => bound(row.lower)),
    rowUpper: rows.map((row) => bound(row.upper)),
    matrix: {
      format: 'csr' as const,
      numRows: rows.length,
      numCols: columns.length,
      starts,
      indices: Int32Array.from(indices),
      values: Float64Array.from(values),
    },
  };
}
