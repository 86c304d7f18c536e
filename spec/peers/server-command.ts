/** One command to a server of the engine, beside the engines. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { INTEGER, ReplyReader } from '../../src/engine/redis/reply.ts';

/** Resolves with the text, or the number, that it replies with. */
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

/** Commands that the server has done, those of scripts included. */
export async function commandCount(port: number): Promise<number> {
  const text = await serverCommand(port, 'INFO', 'stats');
  return Number(/total_commands_processed:(\d+)/.exec(text)?.[1]);
}
