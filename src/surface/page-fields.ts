/**
 * The header fields that identify the page which made a browser send a request (Fetch: Origin and
 * CORS; Fetch Metadata Request Headers; Upgrade Insecure Requests). Other clients send none of
 * them, so the object is created only for requests of browsers.
 * Tested by cross-origin-policy.spec.ts.
 */
import type { Span } from '../base/span.ts';
import { equalsIgnoringCase } from '../http/field-values.ts';
import {
  ACCESS_CONTROL_REQUEST_HEADERS,
  HOST,
  ORIGIN,
  SEC_FETCH_MODE,
  SEC_FETCH_SITE,
  UPGRADE_INSECURE_REQUESTS,
} from '../http/header-fields.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Maximum length of each text, in bytes: no origin or host is longer. */
const TEXT_BYTES_MAX = 2048;
/** Stands for an Origin that is too long or repeated. It equals no origin. */
const INVALID = '(invalid)';

export interface PageFields {
  /** The page's origin, or `null`; undefined if Origin was not sent. */
  readonly origin: string | undefined;
  /**
   * The value of Host or the authority of the target; empty if absent or too long, or without an
   * Origin to compare it with.
   */
  readonly host: string;
  /** Whether the page is from another site, or from another origin of this site. */
  readonly isOtherSite: boolean;
  /** Whether the browser navigates: it will show the response. */
  readonly isNavigation: boolean;
  /** Whether the browser requests a document to show (Upgrade-Insecure-Requests). */
  readonly opensDocument: boolean;
  /** The header fields that a CORS preflight lists. */
  readonly requestedFields: string;
}

/** Returns the fields of the page that a request is from; undefined if it has none of them. */
export function pageFieldsOf(head: RequestHead): PageFields | undefined {
  const bits = head.fieldBits & PAGE_BITS;
  if (bits === 0) return undefined;
  // Others also send Sec-Fetch-Mode (Node's fetch), but only browsers navigate.
  const isNavigation = head.findLast(SEC_FETCH_MODE, isNavigate) !== undefined;
  if (bits === SEC_FETCH_MODE.bit && !isNavigation) return undefined;
  return {
    origin: originOf(head),
    host: isShort(head.field(HOST)) ? head.fieldText(HOST) : '',
    isOtherSite: head.findLast(SEC_FETCH_SITE, isOtherSite) !== undefined,
    isNavigation,
    opensDocument: head.has(UPGRADE_INSECURE_REQUESTS),
    requestedFields: requestedFieldsOf(head),
  };
}

/** No browser sends Origin twice. */
function originOf(head: RequestHead): string | undefined {
  if (!head.has(ORIGIN)) return undefined;
  const isValid = !head.isRepeated(ORIGIN) && isShort(head.field(ORIGIN));
  return isValid ? head.fieldText(ORIGIN) : INVALID;
}

/** Returns the last list of requested fields; '' if there is none or it is too long. */
function requestedFieldsOf(head: RequestHead): string {
  const list = head.findLast(ACCESS_CONTROL_REQUEST_HEADERS, () => true);
  return list !== undefined && isShort(list) ? list.toBuffer().toString('latin1') : '';
}

function isOtherSite(site: Span): boolean {
  return site.is(CROSS_SITE) || site.is(SAME_SITE);
}

function isNavigate({ bytes, start, end }: Span): boolean {
  return equalsIgnoringCase(bytes, start, end, NAVIGATE);
}

function isShort({ length }: Span): boolean {
  return length <= TEXT_BYTES_MAX;
}

const PAGE_BITS =
  ORIGIN.bit |
  SEC_FETCH_SITE.bit |
  SEC_FETCH_MODE.bit |
  UPGRADE_INSECURE_REQUESTS.bit |
  ACCESS_CONTROL_REQUEST_HEADERS.bit;
const CROSS_SITE = Buffer.from('cross-site');
const SAME_SITE = Buffer.from('same-site');
const NAVIGATE = Buffer.from('navigate');
