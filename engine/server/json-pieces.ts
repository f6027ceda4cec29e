/** Characters of a piece, about. */
const PIECE = 2 ** 14;

/**
 * A value as JSON in pieces of some 16 KiB, as JSON.stringify has it: a long answer is made and sent bit by bit, and
 * other events are handled between.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  let piece = '';
  for (const part of parts(value)) {
    piece += part;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

function* parts(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* listParts(value);
  else if (typeof value === 'object' && value !== null) {
    let before = '{';
    for (const [name, own] of Object.entries(value)) {
      if (own === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* parts(own);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

function* listParts(items: readonly unknown[]): Generator<string> {
  let before = '[';
  for (const item of items) {
    yield before;
    yield* parts(item);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
