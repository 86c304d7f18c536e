/**
 * A cache in front of a slow service. The map's time to live is the age of the oldest value that a
 * caller gets: see ../member.yaml. The cache never fails a caller: if the member cannot be reached
 * in TIMEOUT_MS, or refuses a request, the service is called instead, and the member is left out for
 * PAUSE_MS, so that not every caller waits for it.
 */
/** A cache must be faster than its service. */
const TIMEOUT_MS = 300;
const PAUSE_MS = 5_000;

export class Cache {
  #map;
  #warn;
  /** The keys that are being loaded: callers of the same key wait for one load. */
  #loading = new Map();
  #retryAt = 0;

  /**
   * `map` is the URL of a map, such as http://127.0.0.1:5701/grid/rest/maps/cache. `warn` is called
   * with a message when the member is left out.
   */
  constructor(map, warn = console.error) {
    this.#map = map;
    this.#warn = warn;
  }

  /** Returns the bytes stored for the key; otherwise those that `load` returns, and stores them. */
  get(key, load) {
    const known = this.#loading.get(key);
    if (known !== undefined) return known;
    const value = this.#find(key, load).finally(() => this.#loading.delete(key));
    this.#loading.set(key, value);
    return value;
  }

  /** Removes the value, after a change of its source. Fails if the member cannot be reached. */
  async delete(key) {
    const { status, content } = await this.#send('DELETE', key);
    if (status !== 200) throw new Error(`status ${status}: ${content}`);
  }

  async #find(key, load) {
    const stored = await this.#try('GET', key);
    if (stored?.status === 200) return stored.content;
    const value = await load(key);
    await this.#try('POST', key, value);
    return value;
  }

  /** Returns the response, or undefined if there is no usable one. */
  async #try(method, key, body) {
    if (performance.now() < this.#retryAt) return undefined;
    try {
      const response = await this.#send(method, key, body);
      if (response.status === 200 || response.status === 204) return response;
      this.#leaveOut(`status ${response.status}: ${response.content}`);
    } catch (error) {
      this.#leaveOut(error.cause?.message ?? error.message);
    }
    return undefined;
  }

  #leaveOut(reason) {
    // Another caller may have done so meanwhile.
    if (performance.now() < this.#retryAt) return;
    this.#retryAt = performance.now() + PAUSE_MS;
    this.#warn(`cache: not used for ${PAUSE_MS / 1000} s: ${reason}`);
  }

  async #send(method, key, body) {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/octet-stream' };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const url = `${this.#map}/${encodeURIComponent(key)}`;
    const response = await fetch(url, { method, body, headers, signal });
    return { status: response.status, content: Buffer.from(await response.arrayBuffer()) };
  }
}
