/** Directories that are backups as far as their checksums tell. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { checkedBytes } from '../../src/persistence/checked-file.ts';

/** Makes one of that member and time; returns how many bytes its files have. */
export function makeBackup(directory: string, uuid: string, of: string): number {
  mkdirSync(directory);
  const contents = { member: { uuid }, manifest: { partitionCount: 271 } };
  const files = Object.entries(contents).map(([file, content]) => {
    const bytes = checkedBytes(content);
    writeFileSync(join(directory, file), bytes);
    return { name: file, bytes: bytes.length, crc32: crc32(bytes) };
  });
  writeFileSync(join(directory, 'backup'), checkedBytes({ of, files }));
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
