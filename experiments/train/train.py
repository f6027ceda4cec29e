#!/usr/bin/python3
"""Trains one of the small models on a folder of prepare.ts, with PyTorch on one thread.

Writes NAME.safetensors (float32, tensors as GGUF names them), NAME.json (its shape) and NAME.csv (the log) into the
folder, every few minutes and at the end. With --teacher it learns what that model says rather than the documents: a
draft for it.
"""
import argparse
import csv
import json
import math
import os
import struct
import sys
import time

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ModuleNotFoundError as error:
    sys.exit(f"{sys.executable}: lacks {error.name}; install Debian's python3-torch, and run /usr/bin/python3 {sys.argv[0]}")

# ffn sizes and widths are multiples of 32, so that rows fit blocks of Q8_0; those of the 3m also of 256, for K-quants.
SHAPES = {
    "300k": dict(layers=3, hidden=96, heads=3, kv_heads=1, head=32, ffn=192),
    "3m": dict(layers=4, hidden=256, heads=4, kv_heads=2, head=64, ffn=768),
    "mixture": dict(layers=6, hidden=128, heads=4, kv_heads=2, head=32, ffn=192, experts=8, used=2),
}
ROPE_BASE = 10_000.0
NORM_EPSILON = 1e-5
# Of what a draft learns, the share that is the teacher's most likely token: assumed.
GREEDY_SHARE = 0.2
# Weight of the loss that keeps experts equally used (Fedus et al. 2021, 2.2).
BALANCE = 0.01


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are orthogonalised (Jordan et al. 2024), by five Newton-Schulz iterations; those of experts
    each on its own."""

    def __init__(self, matrices, momentum=0.95):
        super().__init__(matrices, dict(lr=0, weight_decay=0.01))
        self.momentum = momentum

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weights in group["params"]:
                mean = self.state[weights].setdefault("mean", torch.zeros_like(weights))
                mean.lerp_(weights.grad, 1 - self.momentum)
                update = orthogonal(weights.grad.lerp(mean, self.momentum))
                scale = 0.2 * math.sqrt(max(weights.shape[-2:]))  # as large as an update of AdamW
                weights.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)


def orthogonal(matrix):
    """A matrix, or several of one shape: (rows, columns) or (matrices, rows, columns)."""
    wide = matrix if matrix.shape[-2] <= matrix.shape[-1] else matrix.mT
    x = wide / (wide.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x if wide is matrix else x.mT


class Block(nn.Module):
    """A layer of Llama: grouped attention and a SwiGLU, each behind an RMS norm (Touvron et al. 2023)."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        hidden, head = shape["hidden"], shape["head"]
        matrix = lambda rows, columns: nn.Linear(columns, rows, bias=False)
        self.attn_norm = nn.Parameter(torch.ones(hidden))
        self.attn_q = matrix(shape["heads"] * head, hidden)
        self.attn_k = matrix(shape["kv_heads"] * head, hidden)
        self.attn_v = matrix(shape["kv_heads"] * head, hidden)
        self.attn_output = matrix(hidden, shape["heads"] * head)
        self.ffn_norm = nn.Parameter(torch.ones(hidden))
        experts = shape.get("experts")
        if experts is None:
            self.ffn_gate = matrix(shape["ffn"], hidden)
            self.ffn_up = matrix(shape["ffn"], hidden)
            self.ffn_down = matrix(hidden, shape["ffn"])
        else:
            several = lambda rows, columns: nn.Parameter(torch.empty(experts, rows, columns))
            self.ffn_gate_inp = matrix(experts, hidden)
            self.ffn_gate_exps = several(shape["ffn"], hidden)
            self.ffn_up_exps = several(shape["ffn"], hidden)
            self.ffn_down_exps = several(hidden, shape["ffn"])

    def forward(self, x, cos, sin, mask):  # x: (texts, tokens, hidden)
        texts, tokens, _ = x.shape
        shape = self.shape
        heads, kv_heads, head = shape["heads"], shape["kv_heads"], shape["head"]
        inner = norm(x, self.attn_norm)
        split = lambda y, count: y.view(texts, tokens, count, head).transpose(1, 2)
        q = rotated(split(self.attn_q(inner), heads), cos, sin)
        k = rotated(split(self.attn_k(inner), kv_heads), cos, sin)
        v = split(self.attn_v(inner), kv_heads)
        group = heads // kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = q @ k.transpose(2, 3) / math.sqrt(head) + mask  # (texts, heads, tokens, tokens)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(texts, tokens, heads * head)
        x = x + self.attn_output(mixed)
        inner = norm(x, self.ffn_norm)
        if "experts" in shape:
            return x + self.mixed_experts(inner.flatten(0, 1)).view_as(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(inner)) * self.ffn_up(inner))

    def mixed_experts(self, x):
        """The chosen experts of each token, weighted by their softmax (Jiang et al. 2024, 2.1). x: (tokens, hidden)"""
        probabilities = self.ffn_gate_inp(x).softmax(-1)
        gates, chosen = probabilities.topk(self.shape["used"])
        gates = gates / gates.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for expert in range(self.shape["experts"]):
            tokens, place = (chosen == expert).nonzero(as_tuple=True)
            own = x[tokens]
            inner = F.silu(own @ self.ffn_gate_exps[expert].T) * (own @ self.ffn_up_exps[expert].T)
            y = y.index_add(0, tokens, inner @ self.ffn_down_exps[expert].T * gates[tokens, place, None])
        shares = F.one_hot(chosen, self.shape["experts"]).sum(1).float().mean(0) / self.shape["used"]
        self.imbalance = self.shape["experts"] * (shares * probabilities.mean(0)).sum()
        return y


class Llama(nn.Module):
    """The output matrix is the embedding."""

    def __init__(self, shape, vocabulary):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(vocabulary, shape["hidden"])
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.output_norm = nn.Parameter(torch.ones(shape["hidden"]))
        for name, weights in self.named_parameters():
            if weights.dim() < 2:
                continue
            deep = name.endswith(("attn_output.weight", "ffn_down.weight", "ffn_down_exps"))
            nn.init.normal_(weights, std=0.03 / (math.sqrt(2 * shape["layers"]) if deep else 1))

    def forward(self, ids):  # (texts, tokens) → logits (texts, tokens, vocabulary)
        tokens = ids.shape[1]
        half = self.shape["head"] // 2
        angles = torch.arange(tokens)[:, None] * ROPE_BASE ** (-torch.arange(half) / half)
        cos, sin = angles.cos(), angles.sin()
        mask = torch.full((tokens, tokens), -math.inf).triu(1)
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x, cos, sin, mask)
        return norm(x, self.output_norm) @ self.token_embd.weight.T


def norm(x, weights):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weights


def rotated(x, cos, sin):
    """Rotates adjacent pairs of values, as GGUF files of this architecture have them."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def loss_of(model, batch):
    """Sum of −ln p over the predicted tokens of a padded batch, and their number."""
    ids = batch.clamp(min=0)
    logits = model(ids[:, :-1])
    targets = batch[:, 1:].reshape(-1)
    return F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=-1, reduction="sum"), (targets >= 0).sum().item()


def distillation_of(model, teacher, batch):
    """Sum of the cross-entropies to the teacher's distributions, its most likely token made likelier; their number.

    Between words that fit equally well a greedy text has the one that the teacher slightly prefers. Its distribution
    alone hardly rewards a draft for finding that one.
    """
    ids, wanted = batch.clamp(min=0)[:, :-1], batch[:, 1:] >= 0
    with torch.no_grad():
        probabilities = teacher(ids)[wanted].softmax(-1)
        greedy = F.one_hot(probabilities.argmax(-1), probabilities.shape[-1])
        aim = torch.lerp(probabilities, greedy.to(probabilities), GREEDY_SHARE)
    return F.cross_entropy(model(ids)[wanted], aim, reduction="sum"), len(aim)


def read_documents(folder, part):
    tokens = np.fromfile(os.path.join(folder, f"{part}.tokens"), dtype="<u2").astype(np.int64)
    lengths = np.fromfile(os.path.join(folder, f"{part}.lengths"), dtype="<u2")
    return np.split(tokens, np.cumsum(lengths)[:-1])


def padded(documents):
    batch = np.full((len(documents), max(map(len, documents))), -1, dtype=np.int64)
    for row, document in zip(batch, documents):
        row[: len(document)] = document
    return torch.from_numpy(batch)


def batches(documents, size, random):
    """Batches of documents of similar length, without end; each document occurs once in every epoch."""
    while True:
        order = random.permutation(len(documents))
        for pool in np.array_split(order, max(1, len(order) // (size * 32))):
            pool = sorted(pool, key=lambda index: len(documents[index]))
            groups = [pool[at : at + size] for at in range(0, len(pool), size)]
            for group in random.permutation(len(groups)):
                yield padded([documents[index] for index in groups[group]])


@torch.no_grad()
def held_out_loss(model, documents):
    losses = [loss_of(model, padded(documents[at : at + 32])) for at in range(0, len(documents), 32)]
    return sum(loss.item() for loss, _ in losses) / sum(count for _, count in losses)


def load(path, shape, vocabulary):
    """A model with the weights that `save` wrote."""
    model = Llama(shape, vocabulary)
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            begin, end = header[gguf_name(name)]["data_offsets"]
            weights.copy_(torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(weights.shape).copy()))
    return model


def gguf_name(name):
    return name if name.endswith(".weight") else f"{name}.weight"


def save(path, model):
    """Writes safetensors (length of the header, header in JSON, data), and the shape next to it."""
    header, data, offset = {}, [], 0
    for name, weights in model.named_parameters():
        values = weights.detach().numpy().astype("<f4").tobytes()
        end = offset + len(values)
        header[gguf_name(name)] = {"dtype": "F32", "shape": list(weights.shape), "data_offsets": [offset, end]}
        data.append(values)
        offset = end
    text = json.dumps(header).encode()
    with open(f"{path}.tmp", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    os.replace(f"{path}.tmp", f"{path}.safetensors")
    with open(f"{path}.json", "w") as file:
        json.dump(model.shape, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the folder of prepare.ts")
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--steps", type=int, required=True, help="batches to train on; the rate falls over them")
    parser.add_argument("--begin", metavar="FILE", help="weights to begin with, NAME.safetensors (default: random)")
    parser.add_argument("--teacher", metavar="FILE", help="weights of a 3m, NAME.safetensors, whose draft this becomes")
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate")
    parser.add_argument("--documents", type=int, default=24, help="documents in a batch")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    with open(os.path.join(options.folder, "facts.json")) as file:
        vocabulary = json.load(file)["vocabulary"]
    shape = SHAPES[options.shape]
    model = load(options.begin, shape, vocabulary) if options.begin else Llama(shape, vocabulary)
    teacher = load(options.teacher, SHAPES["3m"], vocabulary) if options.teacher else None
    training, held_out = (read_documents(options.folder, part) for part in ("training", "held-out"))
    is_orthogonal = lambda name, weights: weights.dim() > 1 and "blk" in name and "ffn_gate_inp" not in name
    matrices = [weights for name, weights in model.named_parameters() if is_orthogonal(name, weights)]
    others = [weights for name, weights in model.named_parameters() if not is_orthogonal(name, weights)]
    optimizers = [torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0), Muon(matrices)]
    name = os.path.join(options.folder, f"stories-{options.shape}")
    begin = saved = time.process_time()
    step = tokens = 0
    recent = []
    with open(f"{name}.csv", "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["step", "tokens", "seconds", "rate", "training_loss", "held_out_loss"])

        def report():
            row = [step, tokens, round(time.process_time() - begin), f"{rate:.2e}"]
            row += [f"{np.mean(recent):.4f}", f"{held_out_loss(model, held_out[:200]):.4f}"]
            log.writerow(row)
            file.flush()
            print(*row, file=sys.stderr, flush=True)
            recent.clear()

        for batch in batches(training, options.documents, np.random.default_rng(options.seed)):
            done = step / options.steps
            if done >= 1:
                break
            rate = options.rate * min(1, (step + 1) / 100) * (0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2)
            for group in [group for optimizer in optimizers for group in optimizer.param_groups]:
                group["lr"] = rate
            loss, count = distillation_of(model, teacher, batch) if teacher else loss_of(model, batch)
            balance = BALANCE * sum(block.imbalance for block in model.blk) if "experts" in shape else 0
            model.zero_grad(set_to_none=True)
            (loss / count + balance).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in optimizers:
                optimizer.step()
            step, tokens = step + 1, tokens + count
            recent.append(loss.item() / count)
            if step % 100 == 0:
                report()
            if time.process_time() - saved > 120:
                save(name, model)
                saved = time.process_time()
        if recent:
            report()
    save(name, model)
    print(f"{sum(weights.numel() for weights in model.parameters())} parameters, {step} steps, {tokens} tokens,")
    print(f"{held_out_loss(model, held_out):.4f} nats per token of all held-out documents")


if __name__ == "__main__":
    main()
