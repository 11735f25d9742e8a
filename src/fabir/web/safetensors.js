// Arrays of a safetensors file. Their numbers stay as they are stored until they are read.

const KINDS = { F16: Uint16Array, F32: Float32Array, I8: Int8Array };

/** The arrays of a file by name: their `shape`, and `at(i)`, the number at a place. */
export function readTensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  delete header.__metadata__;
  const entries = Object.entries(header).map(([name, { dtype, shape, data_offsets }]) => {
    const [begin, end] = data_offsets.map((offset) => 8 + length + offset);
    const values = new KINDS[dtype](buffer.slice(begin, end));
    return [name, { shape, at: dtype === "F16" ? (i) => half(values[i]) : (i) => values[i] }];
  });
  return Object.fromEntries(entries);
}

/** The number that the 16 bits of a float16 stand for. */
function half(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
