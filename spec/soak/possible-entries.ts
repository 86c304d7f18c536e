/**
 * The entries that a member must have after a kill: the acknowledged value of each path, or that of
 * a change without a response, which may have been applied or not.
 */
import assert from 'node:assert/strict';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';

type Value = Buffer | undefined;

export class PossibleEntries {
  /** Acknowledged values by path; undefined for removed entries. */
  readonly confirmed = new Map<string, Value>();
  /** Values of changes without a response. */
  readonly #possible = new Map<string, Value>();

  /** Sets an entry, or removes it without a value. */
  change(client: RawClient, path: string, value?: Buffer): Promise<ReceivedResponse> {
    const method = value === undefined ? 'DELETE' : 'POST';
    return this.#changed([path], value, client.request(method, path, value));
  }

  /** Clears a map. */
  clear(client: RawClient, map: string): Promise<ReceivedResponse> {
    const paths = [...this.confirmed.keys()].filter((path) => path.startsWith(`${map}/`));
    return this.#changed(paths, undefined, client.request('DELETE', map));
  }

  /** Asserts that the entries are possible. From then on, they are confirmed. */
  async check(port: number): Promise<void> {
    const client = new RawClient(port);
    for (const path of new Set([...this.confirmed.keys(), ...this.#possible.keys()])) {
      const { status, body } = await client.request('GET', path);
      assert.ok(status === 200 || status === 204, `${path}: ${status}`);
      const found = status === 200 ? body : undefined;
      const possible = [this.confirmed.get(path)];
      if (this.#possible.has(path)) possible.push(this.#possible.get(path));
      const isPossible = possible.some((value) => equal(value, found));
      assert.ok(isPossible, `${path}: ${shown(found)}, not ${possible.map(shown).join(' or ')}`);
      this.confirmed.set(path, found);
    }
    this.#possible.clear();
    client.destroy();
  }

  async #changed(
    paths: readonly string[],
    value: Value,
    responding: Promise<ReceivedResponse>,
  ): Promise<ReceivedResponse> {
    for (const path of paths) this.#possible.set(path, value);
    const response = await responding;
    for (const path of paths) {
      this.#possible.delete(path);
      if (response.status === 200) this.confirmed.set(path, value);
    }
    return response;
  }
}

function equal(one: Value, other: Value): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

function shown(value: Value): string {
  return `${value?.length} bytes (${value?.toString('latin1', 0, 40)})`;
}
