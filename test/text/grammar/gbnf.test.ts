import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { createAutomaton } from '../../../engine/text/grammar/automaton.ts';
import { gbnfStates } from '../../../engine/text/grammar/gbnf.ts';
import { createGrammar, type Grammar } from '../../../engine/text/grammar/grammar.ts';
import { atOnce } from '../../../engine/text/slices.ts';
import { accepts, BYTES, randomText } from './held.ts';

function grammarOf(text: string): Grammar {
  const automaton = createAutomaton();
  return atOnce(createGrammar(gbnfStates(automaton, text, automaton.end()), BYTES));
}

// llama.cpp's grammars/arithmetic.gbnf and json.gbnf are in this notation; these are shorter ones of the same kinds.
const SUMS = `
# a sum
root  ::= (expr "=" blank term "\\n"){1,2}
expr  ::= term ([-+*/] term)*   # comment
term  ::= ident | num | ("(" blank
  expr ")" blank)
ident ::= [a-z] [a-z0-9_]* blank
num   ::= [0-9]+ blank
blank ::= [ \\t\\n]*
`;

const CASES: readonly (readonly [grammar: string, yes: readonly string[], no: readonly string[]])[] = [
  ['root ::= "yes" | "no"', ['yes', 'no'], ['', 'ye', 'yesno', ' yes']],
  [SUMS, ['a=1\n', 'x1 +(2*y)=3\n', 'a=1\nb=2\n'], ['a=1', '=1\n', '1+=2\n', 'a=1\nb=2\nc=3\n']],
  ['root ::= "a"? [b-d]{2} "e"{2,} .{0,1}', ['bcee', 'addeeee', 'bbeeé'], ['bee', 'abcde', 'abbeexy']],
  ['root ::= [^a-y"\\n] "\\x41\\u00e9\\U0001F600\\""', ['zAé😀"', '😀Aé😀"'], ['aAé😀"', '\nAé😀"']],
  ['root ::= [\\]^-]+', [']', '^-]'], ['', 'a']],
  ['root ::= "(" root ")" | ""', ['', '()', '((()))'], ['(', '())']],
  ['root ::= (("a")?)* "b"', ['b', 'aab'], ['ba']],
  ['root ::= maybe{3} "."\nmaybe ::= "a" | ', ['.', 'a.', 'aaa.'], ['aaaa.']],
  ['a-b ::= "x"\r\nroot ::= a-b |\n  "y" a-b', ['x', 'yx'], ['y']],
];

for (const [grammar, yes, no] of CASES)
  test(`the texts of ${JSON.stringify(grammar.slice(0, 60))}`, () => {
    const held = grammarOf(grammar);
    for (const text of yes) assert.ok(accepts(held, text), JSON.stringify(text));
    for (const text of no) assert.not.ok(accepts(held, text), JSON.stringify(text));
  });

test('random texts of a grammar satisfy it', () => {
  const held = grammarOf(SUMS);
  let written = 0;
  for (let seed = 0; seed < 20; seed++) {
    const stream = randomStream(seed, 'gbnf');
    const text = randomText(held, BYTES, () => stream.next(), 20);
    if (text === undefined) continue; // parentheses within each other have no end
    written += 1;
    assert.match(text, /^([a-z0-9_+*/()=\s-]+=[ \t\n]*[a-z0-9_+*/()\s-]+\n){1,2}$/);
  }
  assert.ok(written > 5, `${written} texts`);
});

const WRONG: readonly (readonly [grammar: string, problem: RegExp])[] = [
  ['start ::= "a"', /has no rule "root"/],
  ['root ::= item', /has no rule "item"/],
  ['root ::= root "a" | "b"', /rule "root" calls itself before any character/],
  ['root ::= a "b"\na ::= " "* root', /calls itself before any character/],
  ['root ::= "a', /line 1: the line ends within a text/],
  ['root ::= "a"\nb = "c"', /line 2: "::=" is expected/],
  ['root ::= ("a"', /line 1: "\)" is expected, not the end/],
  ['root ::= "a"{3,2}', /ends before it begins/],
  ['root ::= [z-a]', /ends before it begins/],
  ['root ::= <think> "a"', /tokens by number or spelling are not supported/],
  ['root ::= "\\q"', /isn’t an escape/],
  ['root ::= "a"{99999}', /more than 16384 times/],
];

for (const [grammar, problem] of WRONG)
  test(`${JSON.stringify(grammar)} is refused`, () => {
    assert.throws(() => grammarOf(grammar), problem);
  });

test.run();
