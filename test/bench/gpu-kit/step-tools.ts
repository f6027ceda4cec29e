import type { Cell } from './results.ts';

/** The input of a step's process. */
export interface StepTask {
  readonly step: string;
  /** Seconds that it may take from its process's start; it is killed soon after them. */
  readonly seconds: number;
  /** The GPU, by a part of its name; `undefined`: the fastest. */
  readonly device: string | undefined;
  /** Whether the GPU is in software. */
  readonly software: boolean;
  /** Folder of models and of temporary files. */
  readonly models: string;
  /** node-llama-cpp's folder; `undefined`: not in the box. */
  readonly peer: string | undefined;
}

export interface StepTools extends StepTask {
  /** Keeps a cell, which takes the place of one that was measured in an earlier round, and prints a line. */
  save(cell: Cell, line?: string): void;
  /** Prints a line. */
  tell(line: string): void;
  secondsLeft(): number;
}

/** A step of the box. */
export interface Step {
  readonly name: string;
  /** Its subject, for people. */
  readonly title: string;
  /** Its part of the time, relative to the other steps'. */
  readonly weight: number;
  /** @returns what is printed when it ends */
  run(tools: StepTools): Promise<string>;
}
