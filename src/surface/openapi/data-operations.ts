/** The operations of maps and queues. */
import { BYTES, empty, type OperationPart, type OperationParts } from './schema.ts';

/** Values and items have any type; generators without wildcards use that of bytes. */
const ANY = { ...BYTES, '*/*': {} };
const DONE = { 200: empty('Done. The response is empty') };

/** The content type of the response is that of the request that stored the value. */
const POLL: OperationPart = {
  description:
    'A poll waits for `seconds` if the queue is empty; it does not wait if they are 0 or negative. ' +
    'The content type is the one that was sent with the item.',
  responses: {
    200: { description: 'The item, which is removed; may be empty', content: ANY },
    204: empty('The queue remained empty'),
  },
};

export const DATA_OPERATIONS: OperationParts = {
  getEntry: {
    description: 'The content type is the one that was sent with the value, or missing.',
    responses: {
      200: { description: 'The value; may be empty', content: ANY },
      204: empty('The map does not have the key'),
    },
  },
  setEntry: {
    description: 'The value is the content of the request, with its content type.',
    content: ANY,
    responses: DONE,
  },
  deleteEntry: { responses: DONE },
  clearMap: { responses: DONE },
  offer: {
    description: 'The item is the content of the request, with its content type.',
    content: ANY,
    responses: DONE,
  },
  queueSize: {
    responses: {
      200: {
        description: 'The number of items, in decimal',
        content: { 'text/plain': { schema: { type: 'string', pattern: '^[0-9]+$' } } },
      },
    },
  },
  poll: POLL,
  pollWithGet: POLL,
  offerFromPath: { inPath: { seconds: 'The item' }, responses: DONE },
  offerSize: { description: 'The item is the word `size`.', responses: DONE },
  clearUnnamedMap: {
    description: 'The map with the empty name never has entries.',
    responses: DONE,
  },
};
