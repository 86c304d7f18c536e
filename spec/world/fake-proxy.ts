/**
 * A proxy in front of a fake server, as spec/peers/cutting-proxy.ts is in front of a real one. It
 * can cut a connection that calls scripts after a number of bytes of replies: the server has
 * executed commands whose replies are lost.
 */
import type { CuttableProxy } from '../engine/redis/faulty-server.ts';
import type { FakeServer } from './fake-server.ts';
import type { End, EndObserver, ServerEnd } from './network.ts';

/** Time between a cut of the replies and the end of the connection, in ms; commands still pass. */
const DROPPING_MS = 10;

export class FakeProxy implements CuttableProxy {
  readonly port: number;
  cutCount = 0;
  readonly #server: FakeServer;
  #passing = Number.POSITIVE_INFINITY;

  constructor(server: FakeServer) {
    const { network } = server.world;
    this.#server = server;
    this.port = network.newPort();
    network.listen({ host: '127.0.0.1', port: this.port }, (end) => this.#accept(end));
  }

  cutAfter(byteCount: number): void {
    this.#passing = byteCount;
  }

  stop(): void {
    this.#server.world.network.unlisten({ host: '127.0.0.1', port: this.port });
  }

  #accept(end: ServerEnd): EndObserver {
    let callsScripts = false;
    let isDropping = false;
    const write: End['write'] = (bytes) => {
      if (isDropping) return;
      if (!callsScripts || bytes.length <= this.#passing) {
        if (callsScripts) this.#passing -= bytes.length;
        return end.write(bytes);
      }
      end.write(bytes.subarray(0, this.#passing));
      this.#passing = Number.POSITIVE_INFINITY;
      this.cutCount++;
      isDropping = true;
      this.#server.world.clock.after(DROPPING_MS, () => end.close());
    };
    const { clientAddress } = end;
    const close = () => end.close();
    const observer = this.#server.accept({
      ...{ clientAddress, write, close },
      get isClosed() {
        return end.isClosed;
      },
    });
    return {
      onBytes: (bytes) => {
        callsScripts ||= bytes.includes('EVALSHA');
        observer.onBytes(bytes);
      },
      onEnd: (isReset) => observer.onEnd(isReset),
    };
  }
}
