import { startTemplateProcess, TemplateError } from '../../../engine/text/template-process.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import type { FuzzTarget } from '../target.ts';

/** Pieces of templates, good ones and those that ask for much. */
const PIECES = [
  ...['{% for m in messages %}', '{% endfor %}', '{{ m.role }}: {{ m.content }}\n', '{% if tools %}', '{% endif %}'],
  ...[
    '{% set ns = namespace(x=[1]) %}',
    '{% set ns.x = ns.x + ns.x %}',
    '{{ messages | tojson(indent=2) }}',
    '{{ x }}',
  ],
  ...['{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}', "{{ ''.constructor.constructor('return 1')() }}", '{{ '],
  ...[
    "{{ messages[0]['__proto__'] }}",
    "{{ raise_exception('no\\nline') }}",
    "{{ 'a' * 1000000 }}",
    '{{ messages[::0] }}',
  ],
  ...[
    '{% for i in range(2000) %}',
    '{% else %}',
    '{{ 1 / 0 }}',
    '{% elif x is defined %}',
    '}}',
    '{#',
    '#}',
    '<|im_end|>',
  ],
];
const VALUES = { messages: [{ role: 'user', content: 'Hello' }], add_generation_prompt: true, bos_token: '<s>' };

/** Chat templates. An input is the source of one, which is rendered as a server renders it. */
export function open(): FuzzTarget {
  const templates = startTemplateProcess();
  process.once('exit', templates.close);
  const encoder = new TextEncoder();
  return {
    input(random) {
      const pieces = Array.from({ length: random.integer(1, 8) }, () => random.pick(PIECES));
      let bytes: Uint8Array = encoder.encode(pieces.join(''));
      for (let times = random.integer(0, 2); times > 0; times--)
        bytes = mutateBytes(bytes, encoder.encode(random.pick(PIECES)), random);
      return bytes;
    },
    async read(input) {
      try {
        await templates.render(new TextDecoder().decode(input), VALUES);
        return 'rendered';
      } catch (error) {
        if (error instanceof TemplateError) return error.kind;
        throw error;
      }
    },
  };
}
