/** The transports of a member's publishers. Tested by integration/wan.spec.ts. */
import type { PublisherTransport } from './publisher-transport.ts';
import type { WanPublisherOptions } from './wan-config.ts';

export class PublisherTransports {
  readonly #byPublisher = new Map<WanPublisherOptions, PublisherTransport>();

  get connectionCount(): number {
    let count = 0;
    for (const transport of this.#byPublisher.values()) count += transport.connectionCount;
    return count;
  }

  add(publisher: WanPublisherOptions, transport: PublisherTransport): PublisherTransport {
    this.#byPublisher.set(publisher, transport);
    return transport;
  }

  delete(publisher: WanPublisherOptions): void {
    this.#byPublisher.delete(publisher);
  }

  /**
   * Reads the TLS files again. Resolves with the function that uses them for new connections.
   * Rejects with GridError TLS_FILE_UNUSABLE.
   */
  async readTlsAgain(): Promise<() => void> {
    const renewals: (() => void)[] = [];
    for (const each of this.#byPublisher.values()) renewals.push(await each.readTlsAgain());
    return () => {
      for (const renew of renewals) renew();
    };
  }
}

/** Checks the TLS files of the publishers. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function checkTls(publishers: readonly WanPublisherOptions[]): Promise<void> {
  for (const { tls, targetEndpoints } of publishers) {
    if (!targetEndpoints.some((endpoint) => endpoint.tls)) continue;
    await (await import('../http/tls-files.ts')).readTargetTls(tls);
  }
}
