/**
 * A proxy in front of a fake server, as spec/peers/cutting-proxy.ts is in front of a real one. It
 * can cut a connection that calls scripts after a number of bytes of replies: the server has
 * executed commands whose replies are lost. It can also delay commands, so that they arrive after
 * the client has given up.
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
  #isSilent = false;
  /** Functions that send the delayed commands; undefined while commands pass at once. */
  #delayed: (() => void)[] | undefined;

  constructor(server: FakeServer) {
    const { network } = server.world;
    this.#server = server;
    this.port = network.newPort();
    network.listen({ host: '127.0.0.1', port: this.port }, (end) => this.#accept(end));
  }

  cutAfter(byteCount: number): void {
    this.#passing = byteCount;
  }

  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Delays the commands of the present connections, even if their clients end; later ones pass. */
  delayCommands(): void {
    this.#delayed = [];
  }

  sendDelayed(): void {
    for (const send of this.#delayed ?? []) send();
    this.#delayed = undefined;
  }

  stop(): void {
    this.#server.world.network.unlisten({ host: '127.0.0.1', port: this.port });
  }

  #accept(end: ServerEnd): EndObserver {
    let callsScripts = false;
    let isDropping = false;
    let isClosed = false;
    const isNew = this.#delayed !== undefined;
    const isDelayed = () => this.#delayed !== undefined && !isNew;
    const write: End['write'] = (bytes) => {
      if (isDropping || this.#isSilent) return;
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
    const close = () => {
      isClosed = true;
      end.close();
    };
    const observer = this.#server.accept({
      ...{ clientAddress, write, close },
      get isClosed() {
        return isClosed;
      },
    });
    return {
      onBytes: (bytes) => {
        callsScripts ||= bytes.includes('EVALSHA');
        if (isDelayed()) this.#delayed!.push(() => observer.onBytes(bytes));
        else observer.onBytes(bytes);
      },
      onEnd: (isReset) => {
        if (isDelayed()) return;
        isClosed = true;
        observer.onEnd(isReset);
      },
    };
  }
}
