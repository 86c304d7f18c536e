/** The bytes of a checked file, in any format. */

import { DATA_FORMAT } from '../../src/persistence/data-format.ts';
import { framed } from '../../src/persistence/framed-file.ts';
import { inOtherFormat } from './other-format.ts';

export function checkedBytes(file: string, content: object, format = DATA_FORMAT): Buffer {
  const { bytes } = framed('gridJSON', [Buffer.from(JSON.stringify({ ...content, file }))]);
  return inOtherFormat(bytes, format);
}
