import { z } from 'zod';
import { problemOf } from '../../input/complaint.ts';
import type { Message } from '../../text/message.ts';
import { ApiError } from '../api-error.ts';
import type { Unsupported } from '../read-body.ts';

/** Continuations of a prompt that a request may ask for; some of them wait for others (queued.ts). */
export const MOST_CHOICES = 128;
export const MOST_STOPS = 16;
const MOST_LOGPROBS = 20;
const MOST_BIASES = 2 ** 16;

/** Messages of a conversation, and parts of one: what has more is refused before it is looked at. */
export const MOST_MESSAGES = 2 ** 11;

/** A list of this many items. The first item that is wrong is the last that is looked at. */
export function list<Item extends z.ZodType>(item: Item, most: number, least = 0) {
  return z
    .array(z.unknown())
    .min(least)
    .max(most)
    .transform((values, context): z.output<Item>[] => {
      const items: z.output<Item>[] = [];
      for (const [index, value] of values.entries()) {
        const { success, data, error } = item.safeParse(value, { error: problemOf });
        if (!success) {
          const [issue] = error.issues as [z.core.$ZodIssue];
          context.issues.push({ ...issue, path: [index, ...issue.path], input: value } as z.core.$ZodRawIssue);
          return z.NEVER;
        }
        items.push(data);
      }
      return items;
    });
}

export const count = z.int().min(1).max(MOST_CHOICES);
/** −1, as in llama.cpp's server: as many as there is room for. */
export const tokens = z
  .int()
  .refine((value) => value >= 1 || value === -1, 'must be at least 1, or -1 for no limit')
  .transform((value) => (value === -1 ? undefined : value));
/** The same, or 0: the prompt is evaluated, for its probabilities or for later. */
export const tokensOrNone = z
  .int()
  .min(-1)
  .transform((value) => (value === -1 ? undefined : value));
export const seed = z.int();
export const stop = z.string().min(1);
export const stops = z.union(
  [stop, list(stop, MOST_STOPS)],
  `must be a text, or a list of at most ${MOST_STOPS} texts, none of them empty`,
);
export const topLogprobs = z.int().min(0).max(MOST_LOGPROBS);
/** This server never pads chunks to hide how long they are, as OpenAI's does unless told not to. */
export const streamOptions = z.strictObject({
  include_usage: z.boolean().optional(),
  include_obfuscation: z.literal(false).optional(),
});

const TOKEN = z.string().regex(/^\d+$/, 'must be a token');
const biased = z.number().min(-100).max(100);
/** Tokens and what is added to their logits: an object or, as llama.cpp's server has it, pairs, where false forbids one. */
const logitBias = z.union(
  [z.record(TOKEN, biased), list(z.tuple([z.int().min(0), z.union([biased, z.literal(false)])]), MOST_BIASES)],
  'must be an object of tokens and numbers from -100 to 100, or a list of pairs of them',
);

/** Parameters of drawing tokens: OpenAI's, then those of llama.cpp's server and of vLLM. */
export const sampling = {
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(-1).optional(),
  min_p: z.number().min(0).max(1).optional(),
  repeat_penalty: z.number().min(0.01).max(100).optional(),
  repetition_penalty: z.number().min(0.01).max(100).optional(),
  logit_bias: logitBias.optional(),
  ignore_eos: z.boolean().optional(),
  stop_token_ids: z.array(z.int().min(0)).max(MOST_STOPS).optional(),
};
const penalty = z.number().min(-2).max(2).optional();
export const penalties = { frequency_penalty: penalty, presence_penalty: penalty };

/** Texts at which to stop, as a list. */
export function stopList(stop: string | readonly string[] | undefined): readonly string[] {
  return stop === undefined ? [] : typeof stop === 'string' ? [stop] : stop;
}

const PLAIN = 'leave it out, since this server writes text only';

const UNKNOWN_SAMPLER = 'leave it out; tokens are drawn by temperature, top_k, top_p and min_p';
const unknownSampler = (...neutral: readonly unknown[]): Unsupported => ({ neutral, remedy: UNKNOWN_SAMPLER });

/** Samplers of llama.cpp's server and others, which clients send switched off. */
export const SAMPLERS = {
  ...{ dynatemp_range: unknownSampler(0), xtc_probability: unknownSampler(0), dry_multiplier: unknownSampler(0) },
  ...{ typical_p: unknownSampler(1), typ_p: unknownSampler(1), tfs_z: unknownSampler(1), top_a: unknownSampler(0) },
  ...{ top_n_sigma: unknownSampler(0, -1), mirostat: unknownSampler(0), repeat_last_n: unknownSampler(0, -1, 64) },
  ...{ min_tokens: unknownSampler(0), n_probs: unknownSampler(0), lora: unknownSampler([]) },
} satisfies Readonly<Record<string, Unsupported>>;

/** Parameters that several APIs have and that aren't supported. */
export const UNSUPPORTED = {
  ...SAMPLERS,
  modalities: { neutral: [['text']], remedy: PLAIN },
} satisfies Readonly<Record<string, Unsupported>>;

/** Parameters without influence on a text, and hints for other servers. */
export const HARMLESS = [
  ...['user', 'metadata', 'store', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier'],
  ...['client_metadata', 'cache_prompt', 'cache_salt', 'verbosity', 'prediction', 'priority', 'request_id', 'id_slot'],
  ...['add_generation_prompt', 'continue_final_message', 'skip_special_tokens', 'spaces_between_special_tokens'],
  // Samplers that are switched off, and other things that llama.cpp's pages and editors send.
  ...['samplers', 'dynatemp_exponent', 'xtc_threshold', 'mirostat_tau', 'mirostat_eta', 'dry_base'],
  ...[
    'dry_allowed_length',
    'dry_penalty_last_n',
    'dry_sequence_breakers',
    'n_keep',
    'n_discard',
    'post_sampling_probs',
  ],
  ...['timings_per_token', 'return_progress', 'return_tokens', 'reasoning_format', 'parse_tool_calls'],
  ...['t_max_prompt_ms', 't_max_predict_ms', 'response_fields', 'n_indent'],
  // For services that choose among providers.
  ...['usage', 'provider', 'transforms', 'route', 'plugins', 'thinking_budget'],
];

/** Parameters of chat completions that switch thoughts on and off, or say how long they are. */
export const thinking = {
  reasoning_effort: z.string().optional(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).optional(),
  enable_thinking: z.boolean().optional(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
};

/** A role as templates know it. @throws ApiError 400 for `tool`, `function` and unknown ones */
export function roleOf(role: string, where: string): Message['role'] {
  if (role === 'developer') return 'system';
  if (role === 'system' || role === 'user' || role === 'assistant') return role;
  const allowed = 'allowed: system, developer, user, assistant';
  throw new ApiError(400, `${where}: "${role.slice(0, 40)}" is not supported; ${allowed}`, where, 'unsupported_value');
}
