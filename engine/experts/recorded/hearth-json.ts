import { z } from 'zod';
import { complaintLine, readValue } from '../../input/complaint.ts';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import { type Routing, tokensOf } from '../routing.ts';
import { EXPERTS_OF_A_BYTE } from '../write-routing.ts';

/** Most layers, experts and tokens that are read: more than any model has, and than fit into a text. */
const MOST = 65_535;

const count = (most: number) => z.number().int().min(1).max(most);

/**
 * A recorded routing: a byte for each expert in base64, or two of more than 256 experts, ordered by token, layer and slot.
 */
const RECORD = z.object({
  layers: count(MOST),
  experts: count(MOST),
  topk: count(256),
  promptTokens: z.number().int().min(0).max(MOST),
  decodeTokens: count(MOST),
  ids: z.base64(),
});
const FILE = z.object({ traces: z.record(z.string(), RECORD) });

/**
 * Reads the JSON that `hearth routing` writes: recorded routings by name, the decoded tokens of each.
 * @throws InputError saying where the file is no such record
 */
export function parseHearthJson(text: string, file: string): Map<string, Routing> {
  const read = readValue(FILE, parseJson(text, file));
  if ('complaint' in read) throw new InputError(file, `is no record of routings: ${complaintLine(read.complaint)}`);
  return new Map(
    Object.entries(read.value.traces).map(([name, record]) => [name, routingOf(record, `${file}: ${name}`)]),
  );
}

function routingOf(
  { layers, experts, topk, promptTokens, decodeTokens, ids }: z.infer<typeof RECORD>,
  where: string,
): Routing {
  const bytes = Uint8Array.from(atob(ids), (character) => character.charCodeAt(0));
  const tokens = promptTokens + decodeTokens;
  const [needed, width] = [tokens * layers * topk, experts <= EXPERTS_OF_A_BYTE ? 1 : 2];
  if (bytes.length !== width * needed)
    throw new InputError(
      where,
      `has ${bytes.length / width} experts; ${tokens} tokens in ${layers} layers have ${needed}`,
    );
  const numberAt = (index: number): number =>
    width === 1 ? (bytes[index] as number) : (bytes[2 * index] as number) + 256 * (bytes[2 * index + 1] as number);
  const chosen = Uint16Array.from({ length: needed }, (_, index) => numberAt(index));
  const whole = { tokens, layers, experts, used: topk, chosen };
  // Prompts are left out: some recorders skip layers of theirs.
  const routing = tokensOf(whole, promptTokens, tokens);
  const strange = routing.chosen.find((expert) => expert >= experts);
  if (strange !== undefined) throw new InputError(where, `has expert ${strange} of ${experts}`);
  return routing;
}
