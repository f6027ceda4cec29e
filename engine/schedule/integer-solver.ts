import loadHighs from 'highs';

/** minimise cost·x, lower ≤ x ≤ upper, and for each row lower ≤ Σ coefficient·x ≤ upper. */
export interface IntegerProgram {
  readonly columns: readonly ProgramColumn[];
  readonly rows: readonly ProgramRow[];
}

export interface ProgramColumn {
  readonly cost: number;
  readonly lower: number;
  readonly upper: number;
  readonly integer: boolean;
}

export interface ProgramRow {
  readonly lower: number;
  readonly upper: number;
  /** Column index and coefficient; a column at most once. */
  readonly entries: readonly (readonly [column: number, coefficient: number])[];
}

/** Values of the columns, integers rounded; or why there are none. */
export type ProgramSolution =
  | { readonly status: 'optimal'; readonly values: Float64Array }
  | { readonly status: 'infeasible' }
  | { readonly status: 'failed'; readonly reason: string };

/** An exact solver for mixed-integer linear programs: HiGHS, gap 0. Synchronous once it is loaded. */
export interface IntegerSolver {
  solve(program: IntegerProgram): ProgramSolution;
  /** Frees the solver's memory. */
  dispose(): void;
}

/** Loads HiGHS (about 0.1 s). @param timeLimit seconds that one program may take; then its status is `failed` */
export async function loadIntegerSolver(timeLimit = 60): Promise<IntegerSolver> {
  const highs = await loadHighs();
  const { modelStatus } = highs.constants;
  const model = highs.createModel();
  model.options.set({ output_flag: false, mip_rel_gap: 0, mip_abs_gap: 0, time_limit: timeLimit });
  return {
    dispose: () => model.dispose(),
    solve(program) {
      if (program.columns.some((column) => column.lower > column.upper)) return { status: 'infeasible' };
      model.zeroAllClocks();
      model.passModel(modelData(program, highs.infinity));
      model.run();
      const status = model.getModelStatus();
      if (status === modelStatus.infeasible || status === modelStatus.unboundedOrInfeasible) return { status: 'infeasible' };
      if (status !== modelStatus.optimal) return { status: 'failed', reason: `HiGHS ended with ${statusName(status)}` };
      const values = Float64Array.from(model.getSolution().colValue);
      program.columns.forEach((column, index) => {
        if (column.integer) values[index] = Math.round(values[index] as number);
      });
      return { status: 'optimal', values };
    },
  };

  function statusName(status: number): string {
    return Object.entries(modelStatus).find(([, code]) => code === status)?.[0] ?? `status ${status}`;
  }
}

/** Compressed rows, as HiGHS takes them. */
function modelData({ columns, rows }: IntegerProgram, infinity: number) {
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
    integrality: Int32Array.from(columns, (column) => (column.integer ? 1 : 0)),
  };
}
