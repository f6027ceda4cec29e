import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { escapeHtml, scriptJson, scriptText } from '../../../experiments/lib/html.ts';

test('text can’t become markup', () => {
  assert.is(escapeHtml('<b class="x">D1 & D2</b>'), '&lt;b class=&quot;x&quot;&gt;D1 &amp; D2&lt;/b&gt;');
});

test('a program can’t end its script element', () => {
  assert.is(scriptText(`f('</script>'); g("</SCRIPT >"); '<!--'`), `f('<\\/script>'); g("<\\/SCRIPT >"); '<\\!--'`);
});

test('data within a script element is the same data, whatever it holds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('</script>', '<!--', '<'), (value, text) => {
      const written = scriptJson({ value, text });
      assert.not(written.includes('<'));
      assert.is(JSON.stringify(JSON.parse(written)), JSON.stringify({ value, text }));
    }),
    { seed: 1 },
  );
});

test.run();
