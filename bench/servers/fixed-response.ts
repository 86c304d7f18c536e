/** The response of the bare servers: a text of this length. `closes`: whether it is the last one. */
export function fixedResponse(valueBytes: number, closes: boolean): Buffer {
  return Buffer.from(
    'HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\n' +
      `${closes ? 'Connection: close\r\n' : ''}` +
      `Content-Length: ${valueBytes}\r\n\r\n${'x'.repeat(valueBytes)}`,
  );
}
