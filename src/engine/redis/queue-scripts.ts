/**
 * The scripts of queues. All keys of a queue are in the slot of its partition:
 *
 *     items     a list of items in the format of stored-value.ts; bytes 2 to 9 contain the number
 *     returned  a sorted set of the returned items, by number; they are polled before the list
 *     numbers   a hash: `n`, the last number assigned; `h`, the number of held items, which count
 *               for the capacity; and between the offers and the takes of a turn (queue-turn.ts)
 *               by the turn's name the last number before its offers
 *     waiting   a sorted set of the members with waiting polls, by the hold of the oldest poll
 *     held      a hash per member and partition: the held items, by hold and queue
 *     marks     a hash per member and partition: holds whose items were removed, by hold and queue
 *
 * A hold is a number of HOLD_DIGITS digits that its member chooses, so that each script is
 * repeatable: it detects what it has already done. Numbers of items begin with the time in µs, so
 * they also increase across a time in which a queue was empty and its numbers were removed. The
 * `marks` of a removed member have an empty field: nothing can be held for it any more. Its other
 * marks are retained for OUT_SECONDS, or less if many members were removed: a member that was only
 * cut off may not have returned the results of those takes, and uses the marks to return the items.
 * A partition without held items and marks needs no such key, as the member's connections have
 * already been ended.
 *
 * A server that is out of memory refuses the first write of an offer. The first write of any other
 * script needs no memory, and the writes after it are then allowed. So a script is executed
 * completely or not at all. Tested by queue-turn.spec.ts.
 */
import { script } from './scripts.ts';

export const HOLD_DIGITS = 16;
/**
 * Limits for the takes that one script serves, and for the bytes after which it holds no further
 * item.
 */
export const TAKES_MAX = 64;
/** Maximum number of items that one script adds. */
export const OFFERS_MAX = 64;
const TAKEN_BYTES_MAX = 1024 * 1024;
/**
 * Time for which a removed member cannot hold items, and for which waiting members are stored, in
 * seconds.
 */
export const OUT_SECONDS = 3600;
const WAITING_SECONDS = 86400;

/**
 * Notifies the member whose poll waits longest that there is an item; members that do not listen
 * are removed. Returns false if none is left. A notified member reports again that it waits. If the
 * server does not permit the notification to the user, these polls wait for their next check.
 */
const WAKE = `
local function wake(waiting, channel, queue)
  while true do
    local first = redis.call('ZRANGE', waiting, 0, 0)[1]
    if not first then return false end
    local count = redis.pcall('SPUBLISH', channel .. first, queue)
    if type(count) == 'table' then return false end
    redis.call('ZREM', waiting, first)
    if count > 0 then return true end
  end
end
`;

/**
 * Adds items. Keys: items, returned, numbers, waiting. Arguments: the capacity or 0, the channels'
 * prefix, the queue, whether polls of this member take next ('1' or empty), the turn or empty; then
 * for each item, up to OFFERS_MAX, the first byte and the bytes after its number. Returns how many
 * were added: if not all, the queue is full.
 */
export const OFFER = script(
  `${WAKE}
local items, returned, numbers, waiting = unpack(KEYS)
local capacity, count = tonumber(ARGV[1]), (#ARGV - 5) / 2
if capacity > 0 then
  local used = redis.call('LLEN', items) + redis.call('ZCARD', returned)
  count = math.min(count, capacity - used - (redis.call('HGET', numbers, 'h') or 0))
  if count <= 0 then return 0 end
end
local last = redis.call('HINCRBY', numbers, 'n', count)
if last == count then
  local time = redis.call('TIME')
  last = time[1] * 1000000 + time[2] + count
  redis.call('HSET', numbers, 'n', last)
end
if ARGV[5] ~= '' then redis.call('HSET', numbers, ARGV[5], last - count) end
local added = {}
for index = 1, count do
  local number = struct.pack('>I8', last - count + index)
  added[index] = ARGV[2 * index + 4] .. number .. ARGV[2 * index + 5]
end
redis.call('RPUSH', items, unpack(added))
if ARGV[4] == '' then
  for _ = 1, count do
    if not wake(waiting, ARGV[2], ARGV[3]) then break end
  end
end
return count`,
  4,
  5,
);

/** Returns the next item or nil. Keys: items, returned. */
export const PEEK = script(
  `return redis.call('ZRANGE', KEYS[2], 0, 0)[1] or redis.call('LINDEX', KEYS[1], 0)`,
  2,
  0,
);

/** Returns the number of items. Keys: items, returned. */
export const COUNT = script(
  `return redis.call('LLEN', KEYS[1]) + redis.call('ZCARD', KEYS[2])`,
  2,
  0,
);

/** Drops the marks of holds of a queue. */
const DROP = `
local function drop(marks, holds, queue)
  for at = 1, #holds, ${HOLD_DIGITS} do
    redis.call('HDEL', marks, string.sub(holds, at, at + ${HOLD_DIGITS - 1}) .. queue)
  end
end
`;

/**
 * Holds items for takes, and records whether the member waits at the queue. Keys: items, returned,
 * numbers, waiting, held, marks. Arguments: the queue, the holds concatenated, the marks to drop in
 * the same form, the member or empty if its takes do not wait, whether more of its takes wait ('1'
 * or empty), the channels' prefix, the turn or empty, and with a turn for each take, in two digits,
 * how many offers of the turn precede it. Returns whether items remain (1 or 0), and the item of
 * each take up to the first one without any, empty if it was removed since, or 0 if only later
 * offers of the turn remain for it; or -1 if the member was removed. With a turn, the items have
 * successive numbers, so their count shows how many are older than the turn's offers.
 */
export const TAKE = script(
  `${WAKE}${DROP}
local items, returned, numbers, waiting, held, marks = unpack(KEYS)
local queue, holds, member, more = ARGV[1], ARGV[2], ARGV[4], ARGV[5] == '1'
local fields = {''}
for at = 1, #holds, ${HOLD_DIGITS} do
  fields[#fields + 1] = string.sub(holds, at, at + ${HOLD_DIGITS - 1}) .. queue
end
local marked = redis.call('HMGET', marks, unpack(fields))
if marked[1] then return -1 end
local reply, taken, bytes, room, open = {0}, 0, 0, 0, nil
local last, first
if ARGV[7] ~= '' then first, last = unpack(redis.call('HMGET', numbers, ARGV[7], 'n')) end
if first then
  room = redis.call('LLEN', items) + redis.call('ZCARD', returned) - last + first
end
for index = 2, #fields do
  local field = fields[index]
  local item = marked[index] or redis.call('HGET', held, field)
  local mayTake = not first or room + string.sub(ARGV[8], 2 * index - 3, 2 * index - 2) > 0
  if not item and mayTake and bytes < ${TAKEN_BYTES_MAX} then
    item = redis.call('ZPOPMIN', returned)[1] or redis.pcall('LPOP', items)
    if type(item) == 'table' then
      if taken == 0 then return item end
      item = nil
    end
    if item then
      redis.call('HSET', held, field, item)
      taken, room = taken + 1, room - 1
    end
  end
  if item then
    bytes = bytes + #item
  elseif mayTake then
    open = string.sub(field, 1, ${HOLD_DIGITS})
    break
  end
  reply[#reply + 1] = item or 0
end
if first then redis.call('HDEL', numbers, ARGV[7]) end
if taken > 0 then redis.call('HINCRBY', numbers, 'h', taken) end
if ARGV[3] ~= '' then drop(marks, ARGV[3], queue) end
if member == '' then
  if bytes >= ${TAKEN_BYTES_MAX} then reply[1] = 1 end
  return reply
end
if redis.call('EXISTS', items, returned) > 0 then
  reply[1] = 1
  if not open and not more then wake(waiting, ARGV[6], queue) end
elseif open or more then
  redis.call('ZADD', waiting, open or string.sub(holds, -${HOLD_DIGITS}), member)
  redis.call('EXPIRE', waiting, ${WAITING_SECONDS})
else
  redis.call('ZREM', waiting, member)
end
return reply`,
  6,
  8,
);

/**
 * Removes held items: their holds become marks. Keys: items, returned, numbers, held, marks.
 * Arguments: the queue, the holds concatenated, the marks to drop in the same form. Returns for
 * each hold the digit 1 if the item is removed, now or before, and 0 if there is no such hold.
 */
export const REMOVE = script(
  `${DROP}
local items, returned, numbers, held, marks = unpack(KEYS)
local queue, holds, reply, removed = ARGV[1], ARGV[2], {}, 0
for at = 1, #holds, ${HOLD_DIGITS} do
  local field = string.sub(holds, at, at + ${HOLD_DIGITS - 1}) .. queue
  if redis.call('HDEL', held, field) == 1 then
    removed = removed + 1
    redis.call('HSET', marks, field, '')
    reply[#reply + 1] = '1'
  elseif redis.call('HDEL', marks, field) == 1 then
    redis.call('HSET', marks, field, '')
    reply[#reply + 1] = '1'
  else
    reply[#reply + 1] = '0'
  end
end
if removed > 0 and redis.call('HINCRBY', numbers, 'h', -removed) <= 0 then
  if redis.call('EXISTS', items, returned) == 0 then redis.call('UNLINK', numbers) end
end
if ARGV[3] ~= '' then drop(marks, ARGV[3], queue) end
return table.concat(reply)`,
  5,
  3,
);

/**
 * Returns an item to its queue that is held, or whose removal has left a mark. Keys: returned,
 * numbers, waiting, held, marks. Arguments: the queue, the hold, the item if its removal was
 * requested and otherwise empty, the channels' prefix, whether polls of this member take next ('1'
 * or empty). Returns 1, or 0 if there is neither.
 */
export const GIVE_BACK = script(
  `${WAKE}
local returned, numbers, waiting, held, marks = unpack(KEYS)
local field = ARGV[2] .. ARGV[1]
local item = redis.call('HGET', held, field)
if item then
  redis.call('HDEL', held, field)
  redis.call('HINCRBY', numbers, 'h', -1)
elseif ARGV[3] ~= '' and redis.call('HDEL', marks, field) == 1 then
  item = ARGV[3]
else
  return 0
end
redis.call('ZADD', returned, struct.unpack('>I8', item, 2), item)
if ARGV[5] == '' then wake(waiting, ARGV[4], ARGV[1]) end
return 1`,
  5,
  5,
);

/**
 * Removes a member: nothing can be held for it from now on. Keys: held, marks. Arguments: the
 * seconds for which its marks are retained. Returns the fields of its held items, for GIVE_BACK.
 */
export const PUT_OUT = script(
  `#!lua flags=allow-oom
local fields = redis.call('HKEYS', KEYS[1])
if #fields > 0 or redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('HSET', KEYS[2], '', '')
  redis.call('EXPIRE', KEYS[2], ARGV[1])
end
return fields`,
  2,
  1,
);

export const QUEUE_SCRIPTS = [OFFER, PEEK, COUNT, TAKE, REMOVE, GIVE_BACK, PUT_OUT].map(
  ({ source }) => source,
);
