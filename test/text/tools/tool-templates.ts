/**
 * Chat templates in the manner of models' families, by what they ask of Jinja beyond those of chat-templates.ts, and what
 * Jinja 3.1.6 in Python writes for the conversation of tool-templates.test.ts.
 */
export const TOOL_TEMPLATES: Readonly<Record<string, { readonly source: string; readonly prompt: string }>> = {
  'Qwen 3': {
    source: `{%- if tools %}{{- '<|im_start|>system\\n' + (messages[0].content + '\\n\\n' if messages[0].role == 'system' else '') + '<tools>' }}{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}{{- '\\n</tools> <tool_call></tool_call><|im_end|>\\n' }}{%- endif %}
{%- set ns = namespace(last=messages | length - 1, open=true) %}
{%- for message in messages[::-1] %}{%- if ns.open and message.role == 'user' and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}{%- set ns.open = false %}{%- set ns.last = messages | length - 1 - loop.index0 %}{%- endif %}{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'user' %}
        {{- '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- if '</think>' in content %}{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}
        {{- '<|im_start|>assistant\\n' + ('<think>\\n\\n</think>\\n\\n' if loop.index0 > ns.last else '') + content.strip('\\n') }}
        {%- for call in message.tool_calls or [] %}{%- if call.function %}{%- set call = call.function %}{%- endif %}{{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}{%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}{{- '}\\n</tool_call>' }}{%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`,
    prompt:
      '<|im_start|>system\nBe brief.\n\n<tools>\n{"type": "function", "function": {"name": "dice", "description": "Rolls it\'s dice", "parameters": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "required": ["count"], "additionalProperties": false}}}\n</tools> <tool_call></tool_call><|im_end|>\n<|im_start|>user\nRoll<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{"name": "dice", "arguments": {"count": 1}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n[4]\n</tool_response><|im_end|>\n<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\nAgain<|im_end|>\n<|im_start|>assistant\n',
  },
  'Mistral Nemo': {
    source: `{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}{%- else %}{%- set turns = messages %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set asked = turns | selectattr('role', 'equalto', 'user') | list %}
{{- bos_token }}
{%- for message in turns %}
    {%- if message['role'] == 'user' %}
        {%- if tools is not none and message == asked[-1] %}
            {{- '[AVAILABLE_TOOLS][' }}
            {%- for tool in tools %}{%- set tool = tool.function %}{{- '{"type": "function", "function": {' }}{%- for key, value in tool.items() if key != 'return' %}{%- if value is string %}{{- '"' + key + '": "' + value + '"' }}{%- else %}{{- '"' + key + '": ' + value | tojson }}{%- endif %}{%- if not loop.last %}{{- ', ' }}{%- endif %}{%- endfor %}{{- '}}' + (']' if loop.last else ', ') }}{%- endfor %}
            {{- '[/AVAILABLE_TOOLS]' }}
        {%- endif %}
        {{- '[INST]' + (system + '\\n\\n' if loop.last and system is defined else '') + message['content'] + '[/INST]' }}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- '[TOOL_CALLS][' }}
        {%- for call in message.tool_calls %}
            {%- set out = call.function | tojson %}{{- out[:-1] }}
            {%- if not call.id is defined or call.id | length != 9 %}{{- raise_exception('ids have nine characters') }}{%- endif %}
            {{- ', "id": "' + call.id + '"}' + (']' + eos_token if loop.last else ', ') }}
        {%- endfor %}
    {%- elif message['role'] == 'assistant' %}
        {{- message['content'] + eos_token }}
    {%- elif message['role'] == 'tool' %}
        {%- if message.tool_call_id | length != 9 %}{{- raise_exception('ids have nine characters') }}{%- endif %}
        {{- '[TOOL_RESULTS]{"content": ' + message.content | string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- endif %}
{%- endfor %}`,
    prompt:
      '<s>[INST]Roll[/INST][TOOL_CALLS][{"name": "dice", "arguments": {"count": 1}, "id": "74196fe72"}]</s>[TOOL_RESULTS]{"content": [4], "call_id": "74196fe72"}[/TOOL_RESULTS]Four.</s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "dice", "description": "Rolls it\'s dice", "parameters": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "required": ["count"], "additionalProperties": false}}}][/AVAILABLE_TOOLS][INST]Be brief.\n\nAgain[/INST]',
  },
  'Phi 4 mini': {
    source: `{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- elif tools is defined -%}{%- set system = '' %}{%- endif %}
{%- if system is defined -%}{{- '<|system|>' + system -}}{%- if tools is defined -%}{% for tool in tools %}{{- '<|tool|>' + (tool['function'] | tojson) + '<|/tool|>' -}}{% endfor %}{%- if '<|tool_call|>' not in system -%}{{- 'Write <|tool_call|>{"name": "f", "arguments": {}}<|/tool_call|>' -}}{%- endif -%}{%- endif -%}{{- '<|end|>' -}}{%- endif -%}
{%- for message in messages -%}
    {%- if message['role'] == 'tool' -%}{{- '<|tool_response|>' + (message['content'] | tojson) + '<|end|>' -}}
    {%- elif message['role'] != 'system' -%}
        {{- '<|' + message['role'] + '|>' -}}{%- if message.content -%}{{- message['content'] -}}{%- endif -%}
        {%- for call in message.tool_calls -%}{{- '<|tool_call|>' + (call['function'] | tojson) + '<|/tool_call|>' -}}{%- endfor -%}
        {{- '<|end|>' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}`,
    prompt:
      '<|system|>Be brief.<|tool|>{"name": "dice", "description": "Rolls it\'s dice", "parameters": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "required": ["count"], "additionalProperties": false}}<|/tool|>Write <|tool_call|>{"name": "f", "arguments": {}}<|/tool_call|><|end|><|user|>Roll<|end|><|assistant|><|tool_call|>{"name": "dice", "arguments": {"count": 1}}<|/tool_call|><|end|><|tool_response|>"[4]"<|end|><|assistant|>Four.<|end|><|user|>Again<|end|><|assistant|>',
  },
  'SmolLM 3': {
    source: `{%- set system = messages[0].content if messages[0].role == 'system' else '' -%}
{{- '<|im_start|>system\\n' + system.replace('/no_think', '').rstrip() + '\\n' -}}
{%- if xml_tools or tools -%}
    {%- if tools -%}{%- set xml_tools = tools -%}{%- endif -%}
    {%- set ns = namespace(text='<tools>\\n') -%}
    {%- for tool in xml_tools[:] -%}{%- set ns.text = ns.text ~ (tool | string) ~ '\\n' -%}{%- endfor -%}
    {{- ns.text ~ '</tools> <tool_call></tool_call>\\n' -}}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else '' -%}
    {%- if message.role == 'user' -%}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' -%}
        {% generation %}{{ '<|im_start|>assistant\\n' + content.lstrip('\\n') + '<|im_end|>\\n' }}{% endgeneration %}
    {%- elif message.role == 'tool' -%}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}`,
    prompt:
      "<|im_start|>system\nBe brief.\n<tools>\n{'type': 'function', 'function': {'name': 'dice', 'description': \"Rolls it's dice\", 'parameters': {'type': 'object', 'properties': {'count': {'type': 'integer', 'minimum': 1}}, 'required': ['count'], 'additionalProperties': False}}}\n</tools> <tool_call></tool_call>\n<|im_end|>\n<|im_start|>user\nRoll<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n[4]<|im_end|>\n<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\nAgain<|im_end|>\n<|im_start|>assistant\n",
  },
};
