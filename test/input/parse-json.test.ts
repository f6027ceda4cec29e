import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseJson } from '../../engine/input/parse-json.ts';

function message(text: string): string {
  try {
    parseJson(text, 'x.json');
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

test('JSON is read with or without a byte order mark', () => {
  assert.equal(parseJson('{"a": [1, 2]}', 'x.json'), { a: [1, 2] });
  assert.equal(parseJson('\uFEFF[true]', 'x.json'), [true]);
});

test('a mistake is reported with line and column', () => {
  assert.is(message('{\n  "a": [}\n}'), "x.json: line 2, column 9: is not valid JSON (Unexpected token '}')");
  assert.is(message('{\n  "a": 1,\n  b: 2\n}').slice(0, 24), 'x.json: line 3, column 3');
  assert.is(
    message(`[\n${'1,\n'.repeat(500)}1,]`),
    "x.json: line 502, column 3: is not valid JSON (Unexpected token ']')",
  );
  assert.is(message('[1 2]').slice(0, 24), 'x.json: line 1, column 4');
  assert.is(message('\uFEFF[,]'), "x.json: line 1, column 2: is not valid JSON (Unexpected token ',')");
});

test('a truncated text is reported at its end', () => {
  assert.is(message(''), 'x.json: line 1, column 1: is not valid JSON (Unexpected end of JSON input)');
  assert.is(message('{"a":\n ['), 'x.json: line 2, column 3: is not valid JSON (Unexpected end of JSON input)');
});

test.run();
