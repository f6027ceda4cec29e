"""Prints the logits of a tiny model by train.py, for the last of some tokens: PATH (without .safetensors), TOKENS."""
import json
import struct
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "experiments/train"))
from train import Llama, gguf_name  # noqa: E402

path, tokens = sys.argv[1:]
with open(f"{path}.safetensors", "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()
with open(f"{path}.json") as file:
    shape = json.load(file)
model = Llama(shape, header["token_embd.weight"]["shape"][0])
with torch.no_grad():
    for name, weights in model.named_parameters():
        begin, end = header[gguf_name(name)]["data_offsets"]
        values = np.frombuffer(data[begin:end], dtype="<f4").reshape(weights.shape)
        weights.copy_(torch.from_numpy(values.copy()))
    logits = model(torch.tensor([[int(token) for token in tokens.split(",")]]))
print(json.dumps(logits[0, -1].tolist()))
