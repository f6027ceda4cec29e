/** The 85 characters of ZeroMQ's text form of keys, four bytes in five of them (ZeroMQ RFC 32). */
const CHARACTERS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';

/** @param hexadecimal of a multiple of four bytes */
export function toZ85(hexadecimal: string): string {
  const bytes = Buffer.from(hexadecimal, 'hex');
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const value = bytes.readUInt32BE(at);
    for (let power = 4; power >= 0; power--) text += CHARACTERS[Math.floor(value / 85 ** power) % 85];
  }
  return text;
}

/** @param text of a multiple of five characters, as ZeroMQ writes it */
export function fromZ85(text: string): string {
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0; at < text.length; at += 5) {
    const value = [...text.slice(at, at + 5)].reduce((sum, character) => 85 * sum + CHARACTERS.indexOf(character), 0);
    bytes.writeUInt32BE(value, (at / 5) * 4);
  }
  return bytes.toString('hex');
}
