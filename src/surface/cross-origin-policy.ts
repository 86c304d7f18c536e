/**
 * Cross-origin policy: decides which requests of pages from other sites are refused, and sets the
 * header fields by which a browser lets a page read the response (Fetch Standard, CORS protocol). A
 * request of a page from this member has an Origin equal to Host. Pages of the listed origins may
 * read and change whatever any client may.
 */
import type { Fields } from '../http/response.ts';
import type { PageFields } from './page-fields.ts';

export class CrossOriginPolicy {
  readonly #origins: ReadonlySet<string>;
  readonly #listsAll: boolean;
  readonly #maxAge: string;

  /**
   * `allowed`: origins; `*` for every origin, including `null`. `maxAgeSeconds`: how long a
   * preflight is valid.
   */
  constructor(allowed: readonly string[], maxAgeSeconds: number) {
    this.#origins = new Set(allowed.map(normalised));
    this.#listsAll = allowed.includes('*');
    this.#maxAge = String(maxAgeSeconds);
  }

  /**
   * Header fields of every response, so that caches do not reuse a response for a page of another
   * origin.
   */
  get commonLines(): string {
    return this.#origins.size > 0 ? VARY : '';
  }

  /** Returns header fields of the response to a browser's request, each with CR LF. */
  responseLines({ origin }: PageFields): string {
    if (origin === undefined) return '';
    const allowed = this.#listsAll ? '*' : origin;
    return (
      (this.commonLines === '' ? VARY : '') +
      (this.#lists(origin) ? `Access-Control-Allow-Origin: ${allowed}\r\n${EXPOSED}` : '')
    );
  }

  /** Returns further fields of the response to a preflight; `methods` as in Allow. */
  preflightFields({ origin, requestedFields }: PageFields, methods: string): Fields {
    if (origin === undefined || !this.#lists(origin)) return {};
    return {
      'Access-Control-Allow-Methods': methods,
      ...(requestedFields === '' ? {} : { 'Access-Control-Allow-Headers': requestedFields }),
      'Access-Control-Max-Age': this.#maxAge,
    };
  }

  /**
   * Whether the request is refused because of the page that it is from. `readsOnly`: whether it
   * changes nothing. Such a request may come from a link: the browser shows the response, and the
   * page that contains the link cannot read it.
   */
  refuses({ origin, host, isOtherSite, isNavigation }: PageFields, readsOnly: boolean): boolean {
    if (origin !== undefined && this.#lists(origin)) return false;
    if (origin !== undefined && !isOriginOf(origin, host)) return true;
    return isOtherSite && !(isNavigation && readsOnly);
  }

  #lists(origin: string): boolean {
    return this.#listsAll || this.#origins.has(origin.toLowerCase());
  }
}

/**
 * Header fields of a stored value that a browser opens as a document: it may not run scripts, and
 * its type is not guessed.
 */
export const OPENED_VALUE =
  'Content-Security-Policy: sandbox\r\nX-Content-Type-Options: nosniff\r\n';

const VARY = 'Vary: Origin\r\n';
const EXPOSED = 'Access-Control-Expose-Headers: *\r\n';
const DEFAULT_PORTS = new Map([
  ['http', '80'],
  ['https', '443'],
]);

/**
 * Returns the origin as browsers send it: in lower case, without the default port of the scheme.
 */
function normalised(text: string): string {
  const lower = text.toLowerCase();
  const [, scheme = '', authority = ''] = ORIGIN.exec(lower) ?? [];
  const port = `:${DEFAULT_PORTS.get(scheme)}`;
  return authority.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/**
 * Whether the origin has that host and port. Any HTTP scheme matches, because a proxy may terminate
 * TLS.
 */
function isOriginOf(origin: string, host: string): boolean {
  const [, scheme = '', authority = ''] = ORIGIN.exec(origin.toLowerCase()) ?? [];
  const port = DEFAULT_PORTS.get(scheme);
  if (port === undefined) return false;
  return withPort(authority, port) === withPort(host.toLowerCase(), port);
}

function withPort(authority: string, port: string): string {
  return /:\d+$/.test(authority) ? authority : `${authority.replace(/:$/, '')}:${port}`;
}

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@]+)$/;
