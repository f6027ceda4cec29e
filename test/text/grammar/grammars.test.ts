import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGrammars } from '../../../engine/text/grammar/grammars.ts';
import { packStates, unpackStates } from '../../../engine/text/grammar/packed-states.ts';
import { SchemaError } from '../../../engine/text/grammar/schema-error.ts';
import { LongWork, shortWork } from '../../../engine/text/grammar/short-work.ts';
import { formStates, type TextForm } from '../../../engine/text/grammar/text-form.ts';
import { readTokenBytes } from '../../../engine/text/grammar/token-bytes.ts';
import { atOnce, SLICE } from '../../../engine/text/slices.ts';
import { accepts, BYTES, END } from './held.ts';

const tokenizer = { size: END + 1, bytesOf: BYTES.bytesOf, stops: new Set([END]) };
const never = new AbortController().signal;

const branches = (count: number): TextForm => ({
  schema: {
    oneOf: Array.from({ length: count }, (_, k) => ({
      type: 'object',
      properties: { k: { const: k } },
      required: ['k'],
    })),
  },
});
const FORMS: readonly TextForm[] = [
  { schema: true },
  { schema: { type: 'string', minLength: 2, maxLength: 70_000 } },
  { schema: { type: 'object', properties: { a: { $ref: '#' }, b: { type: 'string', pattern: '^x+é?$' } } } },
  { gbnf: 'root ::= "a"{2,3} [^b-d]+ (root | "e")' },
  branches(300),
];

test('states that a thread hands over are those that it made', () => {
  for (const form of FORMS) {
    const packed = packStates(formStates(form).entry);
    assert.equal(packStates(atOnce(unpackStates(packed))), packed);
  }
});

test('forms that take long are made in a thread, and answered as short ones are', async () => {
  const grammars = createGrammars(tokenizer);
  const long = branches(300);
  assert.throws(
    () => formStates(long, shortWork(2 ** 12)),
    (error: unknown) => error instanceof LongWork,
  );
  const [grammar, same] = await Promise.all([grammars.of(long, never), grammars.of(long, never)]);
  assert.is(grammar, same);
  assert.ok(accepts(grammar, '{"k": 299}'));
  assert.not(accepts(grammar, '{"k": 300}'));

  const left = { ...(long.schema as object), if: {} };
  const { ignored } = await grammars.of({ schema: left }, never);
  assert.equal(ignored, formStates({ schema: left }).ignored);
  assert.ok(ignored[0] instanceof SchemaError);
  const whatFails = (form: TextForm): Promise<unknown> =>
    grammars.of(form, never).then(
      () => undefined,
      (error: unknown) => error,
    );
  for (const form of [{ schema: { type: 'array', maxItems: 1e9 } }, { schema: left, isStrict: true }]) {
    let expected: unknown;
    try {
      formStates(form);
    } catch (error) {
      expected = error;
    }
    assert.ok(expected instanceof Error);
    const found = (await whatFails(form)) as Error;
    assert.is(found.constructor, expected.constructor);
    assert.equal({ ...found, message: found.message }, { ...expected, message: expected.message });
  }
});

test('a form that nobody waits for any more is not made, whether it is under way or waits', async () => {
  const grammars = createGrammars(tokenizer);
  const [first, second] = [new AbortController(), new AbortController()];
  const under = grammars.of(branches(300), first.signal).catch(({ name }: Error) => name);
  const waiting = grammars.of(branches(301), second.signal).catch(({ name }: Error) => name);
  await new Promise((resolve) => setTimeout(resolve, 5));
  second.abort();
  first.abort();
  assert.equal(await Promise.all([under, waiting]), ['AbortError', 'AbortError']);
  assert.ok(accepts(await grammars.of(branches(302), never), '{"k":301}'));
});

test('a vocabulary is read in slices', () => {
  const [size, most] = [20 * SLICE, 2 * SLICE];
  let [read, sinceLast] = [0, 0];
  const slices = readTokenBytes({
    size,
    stops: new Set(),
    bytesOf: (token) => {
      read += 1;
      sinceLast += 1;
      return new TextEncoder().encode(`${token}`);
    },
  });
  for (;;) {
    sinceLast = 0;
    const { done, value } = slices.next();
    assert.ok(sinceLast <= most, `${sinceLast}`);
    if (done !== true) continue;
    assert.is(value.all.tokens.length, size);
    const spelled = Array.from(value.all.tokens, String);
    assert.equal(
      spelled,
      spelled.toSorted((a, b) => (a < b ? -1 : 1)),
    );
    break;
  }
  assert.is(read, size);
});

test.run();
