/**
 * A member on a file system of 64 MiB that is filled under load, killed, started again and freed.
 * No change that was acknowledged with 200 is lost. While the disk is full, writes are refused,
 * reads are served, and health reports it. Mounts a loop device; if that fails, the test is skipped
 * with the reason.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { start } from '../cli/gridnode-process.ts';
import { RawClient } from '../integration/client.ts';
import { portOf } from './process-ports.ts';

const DISK = '64M';
const BALLAST_BYTES = 16_777_216;
const CLIENTS = 16;
const VALUE_BYTES_MAX = 4000;
/**
 * Number of consecutive refusals, one second apart, after which the disk is full: a failed snapshot
 * frees its space.
 */
const REFUSALS = 4;
/** Maximum time until writes are accepted after space was freed, in seconds. */
const PATIENCE_S = 30;

class Disk {
  readonly folder = mkdtempSync(join(tmpdir(), 'gridnode-disk-'));
  readonly path = join(this.folder, 'mounted');
  readonly ballast = join(this.path, 'ballast');
  #isMounted = false;

  /** Throws if mounting is not permitted or not possible. */
  mount(): void {
    const image = join(this.folder, 'image');
    mkdirSync(this.path);
    execFileSync('truncate', ['-s', DISK, image]);
    execFileSync('mkfs.ext4', ['-q', '-F', image]);
    execFileSync('mount', ['-o', 'loop', image, this.path], { stdio: 'pipe' });
    this.#isMounted = true;
  }

  /** Occupies space, so that the member cannot use it. */
  occupy(): void {
    const file = openSync(this.ballast, 'w');
    writeSync(file, Buffer.alloc(BALLAST_BYTES, 'b'));
    closeSync(file);
  }

  drop(): void {
    if (this.#isMounted) execFileSync('umount', ['-l', this.path]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The acknowledged value of each key, undefined for a deleted one. */
class Model {
  readonly values = new Map<string, string | undefined>();
  /** Keys whose last change has no response. */
  readonly uncertain = new Set<string>();

  async check(port: number): Promise<number> {
    const client = new RawClient(port);
    for (const [key, value] of this.values) {
      const { status, body } = await client.request('GET', `maps/m/${key}`);
      if (this.uncertain.has(key))
        this.values.set(key, status === 200 ? body.toString() : undefined);
      else assert.equal(status === 200 ? body.toString() : undefined, value, key);
    }
    this.uncertain.clear();
    client.destroy();
    return this.values.size;
  }

  /** Writes keys with the prefix `name` until the disk stays full. */
  async fill(port: number, name: string, random: Random): Promise<void> {
    const client = new RawClient(port);
    try {
      for (let count = 0, refused = 0; refused < REFUSALS; count++) {
        const key = `${name}-${count}`;
        const value = `${key} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
        if (await this.set(client, key, value)) refused = 0;
        else {
          refused++;
          await sleep(1000);
        }
      }
    } finally {
      client.destroy();
    }
  }

  /** Deletes most entries, until a delete is refused. */
  async deleteMost(port: number): Promise<void> {
    const client = new RawClient(port);
    let count = 0;
    for (const [key, value] of this.values) {
      if (value === undefined || ++count % 5 === 0) continue;
      if (!(await this.#change(client, 'DELETE', key, undefined))) break;
    }
    client.destroy();
  }

  set(client: RawClient, key: string, value: string): Promise<boolean> {
    return this.#change(client, 'POST', key, value);
  }

  async #change(
    client: RawClient,
    method: string,
    key: string,
    value: string | undefined,
  ): Promise<boolean> {
    if (this.uncertain.has(key)) return true;
    this.uncertain.add(key);
    const response = await client.request(method, `maps/m/${key}`, Buffer.from(value ?? ''));
    this.uncertain.delete(key);
    if (response.status === 200) this.values.set(key, value);
    else assert.match(response.body.toString(), /the disk is full/);
    return response.status === 200;
  }
}

async function health(port: number, part: string): Promise<number> {
  const client = new RawClient(port);
  client.send(`GET /grid/health/${part} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const response = await client.response();
  client.destroy();
  return response?.status ?? 0;
}

/** Waits until writes are accepted again. */
async function recovered(model: Model, port: number): Promise<void> {
  const client = new RawClient(port);
  for (let second = 0; !(await model.set(client, 'probe', `${second}`)); second++) {
    assert.ok(second < PATIENCE_S, 'writes are still refused');
    await sleep(1000);
  }
  assert.equal(await health(port, 'cluster-safe'), 200);
  client.destroy();
}

for (const mode of (process.env.SOAK_MODES ?? 'always,interval,never').split(',')) {
  test(`A member with sync ${mode} survives a full disk of ${DISK}`, async (context) => {
    const disk = new Disk();
    try {
      disk.mount();
    } catch (error) {
      disk.drop();
      context.skip(`cannot mount a loop device: ${(error as Error).message}`);
      return;
    }
    const model = new Model();
    const open = async () => {
      const flags = [
        '--port',
        '0',
        '--enable-group',
        'DATA',
        '--data-dir',
        join(disk.path, 'data'),
      ];
      const child = start(['serve', ...flags], { GRID_PERSISTENCE_SYNC: mode });
      return { child, exited: once(child, 'exit'), port: await portOf(child) };
    };
    const fill = async (port: number, name: string) => {
      const clients = Array.from({ length: CLIENTS }, (_, client) =>
        model.fill(port, `${name}-${client}`, new Random(client + 1)),
      );
      await Promise.all(clients);
    };
    try {
      disk.occupy();
      let member = await open();
      await fill(member.port, 'first');
      assert.equal(await health(member.port, 'cluster-safe'), 503);
      assert.equal(await health(member.port, 'ready'), 200);
      const whenFull = await model.check(member.port);
      member.child.kill('SIGKILL');
      await member.exited;

      member = await open();
      await model.check(member.port);
      rmSync(disk.ballast);
      await recovered(model, member.port);
      await fill(member.port, 'second');
      const whenFullAgain = await model.check(member.port);
      await model.deleteMost(member.port);
      // The member frees the space of deleted entries itself.
      await recovered(model, member.port);
      member.child.kill('SIGTERM');
      assert.deepEqual(await member.exited, [0, null]);

      member = await open();
      const last = await model.check(member.port);
      member.child.kill('SIGTERM');
      await member.exited;
      console.log(`${mode}: full at ${whenFull} and ${whenFullAgain} entries, ${last} in the end`);
    } finally {
      disk.drop();
    }
  });
}
