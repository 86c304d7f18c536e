/** Status codes that the server sends, with their reason phrases (RFC 9110 section 15). */
const REASONS: Readonly<Record<number, string>> = {
  100: 'Continue',
  200: 'OK',
  204: 'No Content',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** The status line with its line end. Throws RangeError for a status that is not in the table. */
export function statusLine(status: number): string {
  const reason = REASONS[status];
  if (reason === undefined) throw new RangeError(`Cannot answer with status ${status}: unknown`);
  return `HTTP/1.1 ${status} ${reason}\r\n`;
}
