/** Directories whose checksums are those of valid backups. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { checkedBytes } from '../persistence/checked-bytes.ts';

/** Makes a backup of this member and time. Returns the size of its files in bytes. */
export function makeBackup(directory: string, uuid: string, of: string): number {
  mkdirSync(directory);
  const contents = { member: { uuid }, manifest: { partitionCount: 271 } };
  const files = Object.entries(contents).map(([file, content]) => {
    const bytes = checkedBytes(file, content);
    writeFileSync(join(directory, file), bytes);
    return { name: file, bytes: bytes.length, crc32: crc32(bytes) };
  });
  writeFileSync(join(directory, 'backup'), checkedBytes('backup', { of, files }));
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
