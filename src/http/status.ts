/**
 * Reason phrases by status: 100 and final ones (RFC 9110 section 15; 207: RFC 4918; 428–431: RFC
 * 6585). Tested by connection.spec.ts.
 */
const REASONS: Readonly<Record<number, string>> = {
  100: 'Continue',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  203: 'Non-Authoritative Information',
  204: 'No Content',
  205: 'Reset Content',
  206: 'Partial Content',
  207: 'Multi-Status',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  423: 'Locked',
  424: 'Failed Dependency',
  426: 'Upgrade Required',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
  511: 'Network Authentication Required',
};

/** Returns the status line with CR LF. Throws RangeError for an invalid status. */
export function statusLine(status: number): string {
  if (!(Number.isInteger(status) && status >= 100 && status < 600)) {
    throw new RangeError(`Cannot respond with status ${status}: not from 100 to 599`);
  }
  return `HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n`;
}

/** Whether a response with this status has no content and no framing fields (RFC 9110 section 6.4.1). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}
