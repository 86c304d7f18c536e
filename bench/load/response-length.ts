/** The length of a server's response, for generators that count bytes instead of reading responses. */
import { connect } from 'node:net';
import type { Exchange } from './request.ts';

/**
 * Sends the request. Resolves with the length of the response, including its header, in bytes. Rejects
 * unless it begins as expected.
 */
export async function responseLength(
  port: number,
  request: string | Buffer,
  { answer }: Pick<Exchange, 'answer'>,
): Promise<number> {
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  let text = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    const headerEnd = text.indexOf('\r\n\r\n') + 4;
    if (headerEnd < 4) continue;
    const bytes = headerEnd + Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
    if (text.length >= bytes) break;
  }
  if (!text.startsWith(answer)) throw new Error(`"${text.slice(0, 80)}" is not "${answer}"`);
  return text.length;
}
