/**
 * The header fields that identify the page which made a browser send a request (Fetch: Origin and CORS;
 * Fetch Metadata Request Headers; Upgrade Insecure Requests). Other clients send none of them, so the
 * object is created only for requests of browsers. Tested by vectors.spec.ts.
 */
import * as fields from './field-values.ts';

/**
 * Maximum length of each text, in bytes: no origin or host is longer, and the budget for bytes in
 * flight does not count these texts.
 */
const TEXT_BYTES_MAX = 2048;
/** Stands for an Origin that is too long or repeated. It equals no origin. */
const INVALID = '(invalid)';

export class BrowserFields {
  /** The page's origin, or `null`; undefined if Origin was not sent. */
  origin: string | undefined;
  /** The value of Host or the authority of the target; empty if absent or too long. */
  host = '';
  /** Whether the page is from another site, or from another origin of this site. */
  isOtherSite = false;
  /** Whether the browser navigates: it will show the response. */
  isNavigation = false;
  /** Whether the browser requests a document to show (Upgrade-Insecure-Requests). */
  opensDocument = false;
  /** The header fields that a CORS preflight lists. */
  requestedFields = '';
  /** Header fields for the response, each with CR LF; set by the handler. */
  responseLines = '';

  /** Adds one of the fields above. No browser sends any of them twice. */
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
