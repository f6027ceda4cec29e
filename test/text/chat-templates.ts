/** Chat templates of some families, and the expected prompts for the conversation of template-process.test.ts. */
export const CHAT_TEMPLATES: Readonly<Record<string, { readonly source: string; readonly prompt: string }>> = {
  'Llama 2': {
    source: `{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set turns = messages %}{% set system = false %}{% endif %}
{%- for turn in turns -%}
{%- if (turn['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('roles must alternate') }}{%- endif -%}
{%- if loop.index0 == 0 and system -%}{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + turn['content'] %}{%- else -%}{% set content = turn['content'] %}{%- endif -%}
{%- if turn['role'] == 'user' -%}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{%- else -%}{{ ' ' + content.strip() + ' ' + eos_token }}{%- endif -%}
{%- endfor -%}`,
    prompt:
      '<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Yes? </s><s>[INST] 2 < 3 & "ä" {{ bos_token }} [/INST]',
  },
  'Llama 3': {
    source: `{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}`,
    prompt:
      '<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n2 < 3 & "ä" {{ bos_token }}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
  },
  'Qwen (ChatML)': {
    source: `{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant<|im_end|>\\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}{% if (loop.last and add_generation_prompt) or not loop.last %}{{ '<|im_end|>' + '\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt and messages[-1]['role'] != 'assistant' %}{{ '<|im_start|>assistant\\n' }}{% endif %}`,
    prompt:
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n2 < 3 & "ä" {{ bos_token }}<|im_end|>\n<|im_start|>assistant\n',
  },
  Mistral: {
    source: `{{ bos_token }}{% for message in messages if message['role'] != 'system' %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}`,
    prompt: '<s>[INST] Hi [/INST]Yes?</s>[INST] 2 < 3 & "ä" {{ bos_token }} [/INST]',
  },
  'Phi 3': {
    source: `{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}`,
    prompt:
      '<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nYes?<|end|>\n<|user|>\n2 < 3 & "ä" {{ bos_token }}<|end|>\n<|assistant|>\n',
  },
};
