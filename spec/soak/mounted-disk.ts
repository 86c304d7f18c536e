/**
 * A small file system for one test: ext4, xfs or btrfs on a loop device, or tmpfs. Needs root. The
 * test is skipped if the file system cannot be mounted.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ReceivedResponse } from '../integration/client.ts';

export type FileSystem = 'ext4' | 'xfs' | 'btrfs' | 'tmpfs';

/** A member on the disk. */
interface Subject {
  /** Resolves with a summary. */
  run(): Promise<string>;
  /** Returns the state of the member, for a test that has failed. */
  describe(): string;
  kill(): void;
}

export function testOnDisk(
  name: string,
  system: FileSystem,
  megabytes: number,
  subjectOn: (disk: MountedDisk) => Subject,
): void {
  test(name, async (context) => {
    let disk: MountedDisk;
    try {
      disk = new MountedDisk(system, megabytes);
    } catch (error) {
      context.skip(`cannot mount a file system: ${(error as Error).message}`);
      return;
    }
    const subject = subjectOn(disk);
    try {
      console.log(`${name}: ${await subject.run()}`);
    } catch (error) {
      console.log([`${name} failed`, subject.describe(), ...disk.describe('data')].join('\n'));
      throw error;
    } finally {
      subject.kill();
      disk.drop();
    }
  });
}

/** Whether a change was accepted. Only a full disk is a reason to refuse one. */
export function isAccepted({ status, body }: ReceivedResponse): boolean {
  if (status !== 200) assert.match(body.toString(), /the disk is full/);
  return status === 200;
}

export class MountedDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'gridnode-disk-'));
  readonly path = join(this.folder, 'mounted');
  /** Free space of the empty file system, in bytes. */
  readonly usableBytes: number;
  readonly #usedBytes: number;

  /** Throws if mounting is not permitted or not possible. */
  constructor(system: FileSystem, megabytes: number) {
    mkdirSync(this.path);
    try {
      if (system === 'tmpfs') {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.path]);
      } else this.#mountLoop(system, megabytes);
    } catch (error) {
      rmSync(this.folder, { recursive: true, force: true });
      throw error;
    }
    this.usableBytes = this.freeBytes;
    this.#usedBytes = this.#used;
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Number of used bytes that belong to no file with a name. */
  get unnamedBytes(): number {
    execFileSync('sync', ['-f', this.path]);
    const [named = '0'] = execFileSync('du', ['-s', '-B1', this.path]).toString().split('\t');
    return this.#used - this.#usedBytes - Number(named);
  }

  /**
   * Returns lines with the free bytes, and the lengths and allocated bytes of the files in a
   * directory.
   */
  describe(directory: string): readonly string[] {
    const { bavail, bfree, bsize } = statfsSync(this.path);
    const names = readdirSync(join(this.path, directory)).sort();
    const lines = names.map((name) => {
      const { size, blocks } = statSync(join(this.path, directory, name));
      return `${name}: ${size} bytes, ${blocks * 512} on the disk`;
    });
    return [`free: ${bavail * bsize} bytes, ${bfree * bsize} for root`, ...lines];
  }

  drop(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  get #used(): number {
    const { blocks, bfree, bsize } = statfsSync(this.path);
    return (blocks - bfree) * bsize;
  }

  #mountLoop(system: Exclude<FileSystem, 'tmpfs'>, megabytes: number): void {
    const image = join(this.folder, 'image');
    execFileSync('truncate', ['-s', `${megabytes}M`, image]);
    execFileSync(`mkfs.${system}`, ['-q', system === 'ext4' ? '-F' : '-f', image]);
    execFileSync('mount', ['-o', 'loop', image, this.path], { stdio: 'pipe' });
  }
}
