import { withFile } from '../../engine/gguf/file-source.ts';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';

type Row = readonly number[];

/** @returns logits [tokens][vocabulary] */
export function plainForward(path: string, tokens: readonly number[]): Row[] {
  return plainPass(path, tokens).logits;
}

/** @returns hidden states after the output's norm [tokens][hidden] */
export function plainHidden(path: string, tokens: readonly number[]): Row[] {
  return plainPass(path, tokens).hidden;
}

/**
 * An independent forward pass: double precision, all positions at once, without cache and kernels, directly from the
 * tensors' names. Queries and keys are rotated as complex numbers. Supports only what test models have.
 */
function plainPass(path: string, tokens: readonly number[]): { readonly hidden: Row[]; readonly logits: Row[] } {
  return withFile(path, (source) => {
    const { metadata, tensors } = readGguf(source);
    const architecture = String(metadata.get('general.architecture')?.value);
    const setting = (key: string): number => Number(metadata.get(`${architecture}.${key}`)?.value);
    const read = (name: string): Row[] | undefined => {
      const tensor = tensors.find((candidate) => candidate.name === name);
      if (tensor === undefined) return undefined;
      const [columns = 1, rows = 1] = tensor.shape;
      const values = new Float32Array(rows * columns);
      dequantize(tensor.type, source.read(tensor.offset, tensor.bytes), values);
      return Array.from({ length: rows }, (_, row) => [...values.subarray(row * columns, (row + 1) * columns)]);
    };
    const known = new Map<string, Row[] | undefined>();
    const find = (name: string): Row[] | undefined => {
      if (!known.has(name)) known.set(name, read(name));
      return known.get(name);
    };
    const need = (name: string): Row[] => find(name) ?? [];

    const [heads, kvHeads] = [setting('attention.head_count'), setting('attention.head_count_kv')];
    const [size, rotated] = [setting('attention.key_length'), setting('rope.dimension_count')];
    const divisors = find('rope_freqs.weight')?.[0];
    const neighbours = architecture === 'llama' || architecture === 'internlm2';

    const norm = (row: Row, weight: Row): Row => {
      const power = dot(row, row) / row.length + setting('attention.layer_norm_rms_epsilon');
      return row.map((value, i) => (value / Math.sqrt(power)) * (weight[i] as number));
    };
    const rotate = (head: Row, position: number): Row => {
      const out = [...head];
      for (let i = 0; i < rotated / 2; i++) {
        const frequency = setting('rope.freq_base') ** ((-2 * i) / rotated) / (divisors?.[i] ?? 1);
        const [re, im] = neighbours ? [2 * i, 2 * i + 1] : [i, i + rotated / 2];
        const [length, angle] = [Math.hypot(head[re] as number, head[im] as number), position * frequency];
        const turned = Math.atan2(head[im] as number, head[re] as number) + angle;
        [out[re], out[im]] = [length * Math.cos(turned), length * Math.sin(turned)];
      }
      return out;
    };

    let x = tokens.map((token) => need('token_embd.weight')[token] as Row);
    for (let layer = 0; layer < setting('block_count'); layer++) {
      const own = (name: string): Row[] | undefined => find(`blk.${layer}.${name}`);
      /** The product of a matrix, with the number and the bias that it may have. */
      const multiply = (name: string, row: Row): Row => {
        const factor = own(`${name}.scale`)?.[0]?.[0] ?? 1;
        const values = product(own(`${name}.weight`) ?? [], row).map((value) => factor * value);
        return plus(values, own(`${name}.bias`)?.[0]);
      };
      const project = (letter: string, rows: readonly Row[]): Row[] =>
        rows.map((row) => multiply(`attn_${letter}`, row));
      const split = (rows: readonly Row[], letter: 'q' | 'k' | 'v'): Row[][] =>
        rows.map((row, position) =>
          Array.from({ length: row.length / size }, (_, head) => {
            const part = row.slice(head * size, (head + 1) * size);
            if (letter === 'v') return part;
            const weight = own(`attn_${letter}_norm.weight`)?.[0];
            return rotate(weight === undefined ? part : norm(part, weight), position);
          }),
        );
      const input = x.map((row) => norm(row, own('attn_norm.weight')?.[0] ?? []));
      const [q, k, v] = (['q', 'k', 'v'] as const).map((letter) => split(project(letter, input), letter));
      x = x.map((row, position) => {
        const attended = (q?.[position] ?? []).flatMap((query, head) => {
          const kvHead = Math.floor((head * kvHeads) / heads);
          const seen = Array.from({ length: position + 1 }, (_, earlier) => earlier);
          const scores = seen.map((p) => Math.exp(dot(query, k?.[p]?.[kvHead] as Row) / Math.sqrt(size)));
          const total = scores.reduce((sum, score) => sum + score);
          return Array.from({ length: size }, (_, i) =>
            seen.reduce((sum, p) => sum + ((scores[p] as number) / total) * (v?.[p]?.[kvHead]?.[i] as number), 0),
          );
        });
        return plus(row, multiply('attn_output', attended));
      });
      x = x.map((row) => {
        const h = norm(row, own('ffn_norm.weight')?.[0] ?? []);
        const up = multiply('ffn_up', h);
        const gated = multiply('ffn_gate', h).map((g, i) => (g / (1 + Math.exp(-g))) * (up[i] as number));
        return plus(row, multiply('ffn_down', gated));
      });
    }
    const output = find('output.weight') ?? need('token_embd.weight');
    const hidden = x.map((row) => norm(row, need('output_norm.weight')[0] as Row));
    return { hidden, logits: hidden.map((row) => product(output, row)) };
  });
}

function dot(a: Row, b: Row): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

function product(matrix: readonly Row[], row: Row): Row {
  return matrix.map((weights) => dot(weights, row));
}

function plus(a: Row, b: Row | undefined): Row {
  return b === undefined ? a : a.map((value, i) => value + (b[i] as number));
}
