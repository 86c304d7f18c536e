/**
 * The transport of a configured publisher, over HTTP. The TLS files are read for the first message
 * and at a reload. Tested by integration/wan.spec.ts.
 */
import type { SecureContextOptions } from 'node:tls';
import { HttpTransport } from './http-transport.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { TransportResponse, WanTransport } from './wan-transport.ts';

export class PublisherTransport implements WanTransport {
  readonly #publisher: WanPublisherOptions;
  readonly #segment: string;
  #http: HttpTransport | undefined;
  #making: Promise<HttpTransport> | undefined;
  #isClosed = false;

  constructor(publisher: WanPublisherOptions, segment: string) {
    this.#publisher = publisher;
    this.#segment = segment;
  }

  get connectionCount(): number {
    return this.#http?.connectionCount ?? 0;
  }

  send(...message: Parameters<WanTransport['send']>): Promise<TransportResponse> {
    return this.#http?.send(...message) ?? this.#made().then((http) => http.send(...message));
  }

  close(): void {
    this.#isClosed = true;
    this.#http?.close();
  }

  async readTlsAgain(): Promise<() => void> {
    const tls = await this.#readTls();
    // A transport that is being created may have read the files before.
    return () => void this.#making?.then((http) => http.renewTls(tls)).catch(() => {});
  }

  #hasTls(): boolean {
    return this.#publisher.targetEndpoints.some((endpoint) => endpoint.tls);
  }

  #made(): Promise<HttpTransport> {
    this.#making ??= this.#make().catch((error: unknown) => {
      this.#making = undefined;
      throw error;
    });
    return this.#making;
  }

  async #make(): Promise<HttpTransport> {
    const { username, password } = this.#publisher;
    const tls = await this.#readTls();
    const connectTls = this.#hasTls() ? (await import('node:tls')).connect : undefined;
    const login = { username, password };
    const http = new HttpTransport({ segment: this.#segment, ...login, tls, connectTls });
    if (this.#isClosed) http.close();
    this.#http = http;
    return http;
  }

  async #readTls(): Promise<SecureContextOptions> {
    if (!this.#hasTls()) return {};
    return await (await import('../http/tls-files.ts')).readTargetTls(this.#publisher.tls);
  }
}
