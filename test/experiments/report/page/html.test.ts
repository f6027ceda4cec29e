import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { escapeHtml, proseHtml, scriptJson, scriptText } from '../../../../experiments/report/page/html.ts';

test('text is escaped', () => {
  assert.is(escapeHtml('<b class="x">D1 & D2</b>'), '&lt;b class=&quot;x&quot;&gt;D1 &amp; D2&lt;/b&gt;');
});

test('lines don’t break between a number and its unit', () => {
  assert.is(
    proseHtml('3.0 GB/s of 512 MiB in 12 ms, 4 % less & 2 pp of 3 models'),
    '3.0\u00a0GB/s of 512\u00a0MiB in 12\u00a0ms, 4\u00a0% less &amp; 2\u00a0pp of 3 models',
  );
});

test('a program can’t end its script element', () => {
  assert.is(scriptText(`f('</script>'); g("</SCRIPT >"); '<!--'`), `f('<\\/script>'); g("<\\/SCRIPT >"); '<\\!--'`);
});

test('any data survives embedding in a script element', () => {
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
