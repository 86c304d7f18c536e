/**
 * Creates a data directory from a backup: verifies every file of the backup, then copies and
 * compares. The copy is the same member as the original, unless it is given a new UUID.
 * Tested by backup.spec.ts.
 */

import { randomUUID } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import { copyFile } from './atomic-file.ts';
import { BACKUP, type BackupList, sumFile } from './backup.ts';
import { readCheckedFile } from './checked-file.ts';
import { DamagedData } from './damage.ts';
import { fillDirectory } from './fill-directory.ts';
import { MANIFEST } from './manifest.ts';
import { MEMBER, MemberFile } from './member-file.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';

const PIECE_BYTES = 1_048_576;

/** Called with the length of each file that was read or copied. */
type OnBytes = (bytes: number) => void;

/**
 * Restores a backup. `isNewMember`: the copy gets a new UUID, which makes it another data set for
 * WAN replication. Rejects with GridError DATA_DIRECTORY_NOT_EMPTY, or as readBackupList does; then
 * the target is unchanged.
 */
export async function restore(
  source: Storage,
  target: Storage,
  onBytes: OnBytes = () => {},
  isNewMember = false,
): Promise<BackupList> {
  const list = await verifyBackup(source, onBytes);
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  await fillDirectory(target, async () => {
    // The manifest is copied last, when the files that it names exist.
    const files = [...list.files].sort(
      (a, b) => Number(a.name === MANIFEST) - Number(b.name === MANIFEST),
    );
    for (const { name, bytes } of files) {
      await copyFile(source, name, target);
      onBytes(bytes);
    }
    await verify(target, list, piece, onBytes);
    if (isNewMember) await renewUuid(target);
  });
  return list;
}

/** Sets a new UUID. Without the file, the member generates one when it starts. */
async function renewUuid(storage: Storage): Promise<void> {
  const member = new MemberFile(storage);
  await member.load();
  if (member.exists) await member.save({ uuid: randomUUID() });
}

/** Reads and verifies a whole backup. Rejects as readBackupList does. */
export async function verifyBackup(source: Storage, onBytes: OnBytes): Promise<BackupList> {
  const list = await readBackupList(source);
  await verify(source, list, Buffer.allocUnsafeSlow(PIECE_BYTES), onBytes);
  return list;
}

/**
 * Reads the list of a backup's files. Rejects with GridError BACKUP_NOT_WHOLE, as checkFormat
 * throws, or with the system's error.
 */
export async function readBackupList(source: Storage): Promise<BackupList> {
  const exists = (await source.list()).includes(BACKUP);
  if (!exists)
    throw backupNotWhole(source, BACKUP, 'is missing: not a backup, or an incomplete one');
  const isList = ({ of, files }: BackupList) => typeof of === 'string' && Array.isArray(files);
  return await readCheckedFile(source, BACKUP, isList).catch((error: unknown) => {
    if (error instanceof DamagedData) throw backupNotWhole(source, BACKUP, 'is damaged');
    throw error;
  });
}

async function verify(
  storage: Storage,
  list: BackupList,
  piece: Buffer,
  onBytes: OnBytes,
): Promise<void> {
  const names = await storage.list();
  for (const { name, bytes, crc32 } of list.files) {
    if (!isDataFileName(name))
      throw backupNotWhole(storage, name, 'is not a file of a data directory');
    if (!names.includes(name)) throw backupNotWhole(storage, name, 'is missing');
    const length = await lengthOf(storage, name);
    if (length !== bytes) {
      throw backupNotWhole(
        storage,
        name,
        `is damaged: it has ${counted(length, 'byte')}, not ${bytes}`,
      );
    }
    const found = await sumFile(storage, name, piece);
    onBytes(bytes);
    if (found.bytes === bytes && found.crc32 === crc32) continue;
    throw backupNotWhole(storage, name, 'is damaged');
  }
}

async function lengthOf(storage: Storage, name: string): Promise<number> {
  const file = await storage.open(name);
  await file.close();
  return file.length;
}

function isDataFileName(name: string): boolean {
  return name === MANIFEST || name === MEMBER || parseSegmentName(name) !== undefined;
}

function backupNotWhole(storage: Storage, name: string, reason: string): GridError {
  return new GridError('BACKUP_NOT_WHOLE', { file: `${storage.path}/${name}`, reason });
}
