/** Bytes for comparison with a layout. */
import { crc32 } from 'node:zlib';

/** Little-endian fields, as the descriptions of the layouts list them. */
export function fields(
  ...parts: readonly (readonly [bytes: number, value: number | bigint] | Buffer)[]
) {
  const pieces = parts.map((part) => {
    if (Buffer.isBuffer(part)) return part;
    const piece = Buffer.alloc(8);
    piece.writeBigUInt64LE(BigInt.asUintN(64, BigInt(part[1])));
    return piece.subarray(0, part[0]);
  });
  return Buffer.concat(pieces);
}

export function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** The bytes with the frame that src/base/frame.ts describes. */
export function framedBytes(magic: string, format: number, content: Buffer): Buffer {
  const length = 20 + content.length;
  const summed = Buffer.concat([fields([4, format], [4, length]), content]);
  return Buffer.concat([Buffer.from(magic, 'latin1'), fields([4, crc32(summed)]), summed]);
}
