/** Text from which the merges of made models are learnt: long enough for a few hundred, and ours. */
export const CORPUS = `
A model that is too large for one machine can still run at home, if several machines share the work. The weights are
read from disk, layer by layer, while the layers before them are computed; what was read is kept as long as the memory
has room for it. A plan says which device runs which layers, on which processor, and in how many rounds. The scheduler
looks for the plan that takes the least time for each token, and the simulator shows where that time goes: to computing,
to reading memory, to waiting for the disk, or to sending the hidden state to the next device of the ring.

What does a token cost? Every matrix is multiplied with a vector once, so every weight is read once. A machine that
reads 40 GB per second and holds 4 GB of weights can't be faster than 10 tokens per second, whatever its arithmetic.
Quantization makes the weights smaller: 4 or 5 bits for a value instead of 16. The prompt is another matter, because all
of its tokens are multiplied at once; there the arithmetic is what counts, and a graphics card is worth its price.

The cat sat on the mat. The dog ran to the door, and the children were there. It was the first day of the year, and
they had been waiting for the others. "Where is the book?" she said. "I don't know, but I think that it's in the house."
He would have come with them if he could. There are many things that we should not do without thinking about them.

for (let index = 0; index < values.length; index++) { sum += values[index] * weights[index]; }
function add(first: number, second: number): number { return first + second; }
if (error instanceof Error) throw new Error(\`the value \${value} is not a number between 0 and 100\`);

Zurich, Köln, São Paulo, 東京; 3.14159, 2.71828, 1,000,000; 2024-01-31; https://example.org/path?query=value
`;
