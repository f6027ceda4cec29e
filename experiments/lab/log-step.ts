/** Says on stderr what a lab does now. */
export function logStep(line: string): void {
  process.stderr.write(`lab: ${line}\n`);
}
