/** Sends commands to an engine's server on connections of the test. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { INTEGER, ReplyReader } from '../../src/engine/redis/reply.ts';

/** Sends a command; resolves with the text or number of the reply. */
export async function serverCommand(port: number, ...words: readonly string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  socket.write(`*${words.length}\r\n${parts.join('')}`);
  const text = await new Promise<string>((resolve, reject) => {
    const reader = new ReplyReader(({ kind, integer, text }) =>
      resolve(kind === INTEGER ? `${integer}` : text),
    );
    socket.on('data', (bytes) => reader.read(bytes, bytes.length));
    socket.on('error', reject);
  });
  socket.destroy();
  return text;
}

/** The number of commands that the server has executed, including those in scripts. */
export async function commandCount(port: number): Promise<number> {
  const text = await serverCommand(port, 'INFO', 'stats');
  return Number(/total_commands_processed:(\d+)/.exec(text)?.[1]);
}
