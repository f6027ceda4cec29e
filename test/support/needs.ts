import { test } from 'uvu';

/** A test with a requirement that not every machine meets: without it the test is skipped and the reason printed. */
export function testIf(available: boolean, reason: string, name: string, body: () => void | Promise<void>): void {
  if (available) {
    test(name, body);
    return;
  }
  console.log(`skipped: ${name} (${reason})`);
  test.skip(name, body);
}
