/**
 * The scripts of maps that have a reference to a replication. They do what those of map-scripts.ts do,
 * and in the same step move the partition's clock, leave tombstones and mark the key for publishers.
 * layout.ts describes the keys.
 *
 * The last keys are the marks of the publishers that want the change. The last arguments are, for each
 * of them, the number of keys that may wait; minus that number if a change without room is refused.
 * The number of a change is that of the member, unless the clock has reached it: then it is the
 * clock's next one, and the change gets the version of that (partition-clock.ts).
 *
 * A change that is made returns what its script in map-scripts.ts returns. If the member has to know
 * more, it returns an array: that reply; the version, if it is not the member's; the publishers
 * without room, a byte for each, counted from 1; and the number of tombstones that were dropped early.
 *
 * Tested by marked-maps.spec.ts.
 */
import { addition, CONDITION, HEAD_LENGTH, SHARED, setIf, sweeping } from './map-scripts.ts';
import { script } from './scripts.ts';
import { BURY_EXPIRED, tombstoneFunctions, VERSIONS } from './tombstone-functions.ts';

/** The reply if a publisher without room refuses the change, which was not made. */
export const REPLICATION_REFUSED = 2;

/** Length of a tombstone without an origin. */
const TOMBSTONE_BYTES = 13;
/** Steps of removing tombstones in a change that may leave two. */
const TRIM_STEPS = 4;

/**
 * Functions on marks and on the clock. `first`, `firstLimit`: indexes of the first marks in KEYS, and
 * of the first limit in ARGV. `isRefused` finds the publishers without room.
 */
const MARKS = `
local withoutRoom = ''
local function isRefused(first, firstLimit, mark)
  for at = first, #KEYS do
    local limit = tonumber(ARGV[firstLimit + at - first])
    if redis.call('ZCARD', KEYS[at]) >= math.abs(limit) and not redis.call('ZSCORE', KEYS[at], mark) then
      if limit < 0 then return true end
      withoutRoom = withoutRoom .. string.char(at - first + 1)
    end
  end
  return false
end
local function addMarks(first, mark, number)
  for at = first, #KEYS do
    if not string.find(withoutRoom, string.char(at - first + 1), 1, true) then
      redis.call('ZADD', KEYS[at], number, mark)
    end
  end
end
local function tick(clock, number)
  local last = tonumber(redis.call('SET', clock, number, 'GET') or '0')
  if last < tonumber(number) then return number, '' end
  local next = last + 1
  local text = string.format('%.0f', next)
  redis.call('SET', clock, text)
  local ms = math.floor(next / 1000)
  local counter = math.ceil(next % 1000 * 65536 / 1000)
  return text, struct.pack('>I4I4', math.floor(ms / 65536), ms % 65536 * 65536 + counter)
end
local function replyOf(reply, version, dropped)
  if version == '' and withoutRoom == '' and dropped == 0 then return reply end
  return {reply, version, withoutRoom, dropped}
end
`;

/**
 * Sets an entry, and marks it for one publisher: SET_MARKED without functions, and with one call less
 * for a key that waits. It takes a fifth less of the server's time: 8.5 instead of 10.5 us.
 */
export const SET_MARKED_ONCE = script(
  `local call, number, mark = redis.call, ARGV[4], ARGV[3] .. ARGV[1]
local value, version, withoutRoom = ARGV[2], '', ''
local last = call('SET', KEYS[2], number, 'GET')
if last and tonumber(last) >= tonumber(number) then
  local next = last + 1
  number = string.format('%.0f', next)
  call('SET', KEYS[2], number)
  local ms, counter = math.floor(next / 1000), math.ceil(next % 1000 * 65536 / 1000)
  version = struct.pack('>I4I4', math.floor(ms / 65536), ms % 65536 * 65536 + counter)
  value = string.sub(value, 1, 1) .. version .. string.sub(value, 10)
end
if call('ZADD', KEYS[3], number, mark) == 1 then
  local limit = tonumber(ARGV[5])
  if call('ZCARD', KEYS[3]) > math.abs(limit) then
    call('ZREM', KEYS[3], mark)
    if limit < 0 then return ${REPLICATION_REFUSED} end
    withoutRoom = string.char(1)
  end
end
local made = call('HSET', KEYS[1], ARGV[1], value)
if version == '' and withoutRoom == '' then return made end
return {made, version, withoutRoom, 0}`,
  3,
  5,
);

/**
 * Sets an entry. Keys: hash, clock, marks. Arguments: field, value, the beginning of the mark, number,
 * limits.
 */
export const SET_MARKED = script(
  `${MARKS}
local mark = ARGV[3] .. ARGV[1]
if isRefused(3, 5, mark) then return ${REPLICATION_REFUSED} end
local number, version = tick(KEYS[2], ARGV[4])
local value = ARGV[2]
if version ~= '' then value = string.sub(value, 1, 1) .. version .. string.sub(value, 10) end
local made = redis.call('HSET', KEYS[1], ARGV[1], value)
addMarks(3, mark, number)
return replyOf(made, version, 0)`,
  2,
  4,
);

const TOMBSTONES = (at: number) =>
  `${VERSIONS}${tombstoneFunctions(at)}${BURY_EXPIRED}
local dropped = 0
`;

/** Leaves the tombstone of the expired entry in \`stored\`. */
const buryStored = (retention: number) => `
if stored and not held then
  local keyHigh, keyLow = tombstone(mark)
  buryExpired(mark, stored, keyHigh, keyLow)
  redis.call('HDEL', KEYS[1], ARGV[1])
  dropped = trim(${TRIM_STEPS}, tonumber(ARGV[${retention}]), tonumber(ARGV[${retention + 1}]))
end`;

/**
 * Sets an entry with a lifetime, or if it meets the condition. Keys: those of SET_IF; clock,
 * tombstones, order, marks. Arguments: those of SET_IF; number, retention of a tombstone, in seconds,
 * limit for their number; limits.
 */
export const SET_MARKED_IF = script(
  `${SHARED}${HEAD_LENGTH}${CONDITION}${TOMBSTONES(5)}${MARKS}${setIf({
    before: `local mark = #ARGV[7] .. ':' .. ARGV[7] .. ARGV[1]
if isRefused(7, 11, mark) then return ${REPLICATION_REFUSED} end
local number, later = tick(KEYS[4], ARGV[8])
if later ~= '' then value = string.sub(value, 1, 1) .. later .. string.sub(value, 10) end${buryStored(9)}`,
    end: (reply) => `addMarks(7, mark, number)
return replyOf(${reply}, later, dropped)`,
  })}`,
  6,
  10,
);

/**
 * Adds to a number. Keys: those of ADD; clock, tombstones, order, marks. Arguments: those of ADD; number,
 * retention and limit as above; limits.
 */
export const ADD_MARKED = script(
  `${SHARED}${HEAD_LENGTH}${TOMBSTONES(6)}${MARKS}${addition({
    before: `local mark = #ARGV[4] .. ':' .. ARGV[4] .. ARGV[1]
if isRefused(8, 10, mark) then return ${REPLICATION_REFUSED} end
local number, later = tick(KEYS[5], ARGV[7])
if later ~= '' then head = string.sub(head, 1, 1) .. later .. string.sub(head, 10) end${buryStored(8)}`,
    end: (reply) => `addMarks(8, mark, number)
return replyOf(${reply}, later, dropped)`,
  })}`,
  7,
  9,
);

/**
 * Removes an entry if it meets the condition. Keys: hash, clock, tombstones, order, marks. Arguments:
 * field, condition, version, the beginning of the mark, number, retention and limit as above; limits.
 * Returns 1 if there was an entry, otherwise 0, or what DELETE_IF returns if the condition is not met.
 */
export const DELETE_MARKED = script(
  `#!lua flags=allow-oom${SHARED}${HEAD_LENGTH}${CONDITION}${TOMBSTONES(3)}${MARKS}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local held = present(stored)
local current = held and string.sub(held, 2, 9) or ''
if not isMet(current, ARGV[2], ARGV[3], ARGV[4]) then return current end
if not stored then return 0 end
local mark, version = ARGV[6] .. ARGV[1], ARGV[5]
if held and isRefused(5, 10, mark) then return ${REPLICATION_REFUSED} end
if held then
  local number, later = tick(KEYS[2], ARGV[7])
  if later ~= '' then version = later end
  bury(mark, version, 'd', '')
  redis.call('HDEL', KEYS[1], ARGV[1])
  addMarks(5, mark, number)
  dropped = trim(${TRIM_STEPS}, tonumber(ARGV[8]), tonumber(ARGV[9]))
end${buryStored(8)}
return replyOf(held and 1 or 0, '', dropped)`,
  4,
  9,
);

/**
 * Removes expired entries. Keys: those of SWEEP; tombstones, order. Arguments: those of SWEEP; retention
 * and limit as above. Returns an array: what SWEEP returns, and the number of tombstones that were
 * dropped early.
 */
export const SWEEP_MARKED = script(
  `#!lua flags=allow-oom${SHARED}${HEAD_LENGTH}${TOMBSTONES(4)}
local prefix, buried = #ARGV[2] .. ':' .. ARGV[2], 0
${sweeping({
  before: `local keyHigh, keyLow = tombstone(prefix .. field)
      buryExpired(prefix .. field, value, keyHigh, keyLow)
      buried = buried + 1`,
  end: (reply) => `dropped = trim(2 + 2 * buried, tonumber(ARGV[3]), tonumber(ARGV[4]))
return {${reply}, dropped}`,
})}`,
  5,
  4,
);

/**
 * Notes a clear in the partition of the map's name, before it begins. Keys: clears under way,
 * tombstones, order, marks. Arguments: map; version; origin, which may be empty; limits. Returns 1 if
 * it is noted, or the version of a later clear that is under way, or an empty string if such a clear
 * is done, or REPLICATION_REFUSED.
 */
export const NOTE_CLEAR = script(
  `#!lua flags=allow-oom${VERSIONS}${tombstoneFunctions(2)}${MARKS}
local mark = #ARGV[1] .. ':' .. ARGV[1]
local high, low = struct.unpack('>I4I4', ARGV[2])
local note = redis.call('HGET', KEYS[1], ARGV[1])
local heldHigh, heldLow = tombstone(mark)
if note then heldHigh, heldLow = struct.unpack('>I4I4', note) end
if not isAfter(high, low, heldHigh, heldLow) then return note and string.sub(note, 1, 8) or '' end
if isRefused(4, 4, mark) then return ${REPLICATION_REFUSED} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ARGV[3])
return 1`,
  3,
  3,
);

/**
 * Ends a clear that is done in all partitions, and marks it. Keys: clears under way, clock, marks.
 * Arguments: map, version, number, limits. Returns 1, or 0 if it has been ended, or a later one has
 * been noted; or an array as the scripts above.
 */
export const END_CLEAR = script(
  `#!lua flags=allow-oom${MARKS}
local note = redis.call('HGET', KEYS[1], ARGV[1])
if not note or string.sub(note, 1, 8) ~= ARGV[2] then return 0 end
local mark = #ARGV[1] .. ':' .. ARGV[1]
isRefused(3, 4, mark)
local number = tick(KEYS[2], ARGV[3])
redis.call('HDEL', KEYS[1], ARGV[1])
addMarks(3, mark, number)
return replyOf(1, '', 0)`,
  2,
  3,
);

/**
 * Reads the entries and tombstones of marks. Keys: tombstones, hashes of maps. Arguments: the limit for
 * bytes, and the maximum length of an entry that is read together with others; then for each mark the
 * number of its map's hash, counted from 1, the length of its beginning, and the mark. Returns, for
 * marks from the first one on, the entry and the tombstone; each is empty if there is none. The
 * tombstone of an entry is that of its map if that is the later one: the clear is sent in another order.
 */
export const READ_WAITING = script(
  `#!lua flags=no-writes
${VERSIONS}
local cleared = {}
local function removalOf(mark, prefix, entry)
  local removal = redis.call('HGET', KEYS[1], mark) or ''
  if #entry < 9 then return removal end
  if not cleared[prefix] then cleared[prefix] = redis.call('HGET', KEYS[1], prefix) or '' end
  local ofMap = cleared[prefix]
  if #ofMap < ${TOMBSTONE_BYTES} then return removal end
  local high, low = struct.unpack('>I4I4', ofMap)
  local entryHigh, entryLow = struct.unpack('>I4I4', entry, 2)
  if not isAfter(entryHigh, entryLow, high, low) then return removal end
  if #removal < ${TOMBSTONE_BYTES} then return ofMap end
  local heldHigh, heldLow = struct.unpack('>I4I4', removal)
  return isAfter(high, low, heldHigh, heldLow) and ofMap or removal
end
local limit, longest, bytes, reply = tonumber(ARGV[1]), tonumber(ARGV[2]), 0, {}
for at = 3, #ARGV, 3 do
  local mark, entry = ARGV[at + 2], ''
  local prefix, key = string.sub(mark, 1, ARGV[at + 1]), string.sub(mark, ARGV[at + 1] + 1)
  if key ~= '' then entry = redis.call('HGET', KEYS[1 + ARGV[at]], key) or '' end
  bytes = bytes + #mark + #entry
  if #reply > 0 and (#entry > longest or bytes > limit) then break end
  reply[#reply + 1] = entry
  reply[#reply + 1] = removalOf(mark, prefix, entry)
  if #entry > longest then break end
end
return reply`,
  1,
  2,
);

/**
 * Writes the clock again, so that a WAIT after it covers everything that was read before. Keys: clock.
 * Returns 1.
 */
export const CONFIRM_READ = script(
  `#!lua flags=allow-oom
local clock = redis.call('GET', KEYS[1])
if clock then redis.call('SET', KEYS[1], clock) end
return 1`,
  1,
  0,
);

export const MARKED_SCRIPTS = [
  SET_MARKED_ONCE,
  SET_MARKED,
  SET_MARKED_IF,
  ADD_MARKED,
  DELETE_MARKED,
  SWEEP_MARKED,
  NOTE_CLEAR,
  END_CLEAR,
  READ_WAITING,
  CONFIRM_READ,
].map(({ source }) => source);
