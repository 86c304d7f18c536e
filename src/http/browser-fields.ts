/**
 * The header fields by which browsers tell whose page a request is from (Fetch: Origin and CORS; Fetch
 * Metadata Request Headers; Upgrade Insecure Requests). Other clients send none of them, so the object
 * is made only for requests of browsers.
 */
import * as fields from './fields.ts';

/**
 * Limit of each text, in bytes: no origin or host is longer, and these texts are not in the budget for
 * bytes in flight.
 */
const TEXT_BYTES_MAX = 2048;
/** The origin of a request whose Origin is too long or repeated. It equals no origin. */
const INVALID = '(invalid)';

export class BrowserFields {
  /** The page's origin, or `null`; undefined where Origin was not sent. */
  origin: string | undefined;
  /** The value of Host, or the authority of the target; empty where there is none, or it is too long. */
  host = '';
  /** Whether the page is another site's, or of this site's and another origin. */
  isOtherSite = false;
  /** Whether the browser navigates: it opens what it receives. */
  isNavigation = false;
  /** Whether the browser asks for a document that it opens (Upgrade-Insecure-Requests). */
  opensDocument = false;
  /** The fields that a CORS preflight asks for. */
  requestedFields = '';
  /** Header fields of the response, each ended by CR LF; set by the handler. */
  responseLines = '';

  /** Adds a field, which is one of those above. No browser sends one of them twice. */
  add(field: number, value: string): void {
    switch (field) {
      case fields.ORIGIN:
        this.origin = this.origin === undefined && isShort(value) ? value : INVALID;
        return;
      case fields.SEC_FETCH_SITE:
        this.isOtherSite ||= value === 'cross-site' || value === 'same-site';
        return;
      case fields.SEC_FETCH_MODE:
        this.isNavigation = true;
        return;
      case fields.UPGRADE_INSECURE_REQUESTS:
        this.opensDocument = true;
        return;
      default:
        this.requestedFields = isShort(value) ? value : '';
    }
  }

  /** Sets the value of Host, or the authority of the target. */
  setHost(value: string): void {
    this.host = isShort(value) ? value : '';
  }
}

function isShort(value: string): boolean {
  return value.length <= TEXT_BYTES_MAX;
}
