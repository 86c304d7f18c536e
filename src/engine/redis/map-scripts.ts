/**
 * The scripts of maps. The header of a value (stored-value.ts) contains the version in bytes 2 to
 * 9, counted from 1, and, if bit 2 of byte 1 is set, the expiry time in the next 6. The set of
 * expiry times lists each entry of the hash that has a lifetime, by its expiry time in ms. It may
 * also list fields that were deleted or replaced since, so every use of it reads the header; PURGE
 * removes the fields of deleted entries. The set of maps lists each map of the partition that has a
 * set of expiry times, by the first of these or an earlier time.
 *
 * Scripts that remove entries, or only replace bytes, are allowed when the server is out of memory.
 * Tested by redis-engine.spec.ts.
 */
import { script } from './scripts.ts';

/**
 * Functions that the scripts share: the server's time in ms, the expiry time in a value, and the
 * value unless it has expired.
 */
export const SHARED = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function endOf(value)
  if math.floor(string.byte(value, 1) / 4) % 2 == 0 then return nil end
  local at = 0
  for index = 10, 15 do at = at * 256 + string.byte(value, index) end
  return at
end
local function present(value)
  if not value then return false end
  local ends = endOf(value)
  if ends and ends <= now() then return false end
  return value
end
`;

/**
 * Functions that scripts share: the length of the header of a stored value before its origin, that of
 * the whole header, and its origin.
 */
export const HEAD_LENGTH = `
local function originAt(value)
  local flags, length = string.byte(value, 1), 9
  if math.floor(flags / 4) % 2 == 1 then length = length + 6 end
  if math.floor(flags / 8) % 2 == 1 then length = length + 10 end
  if flags % 2 == 1 then return length + 1 end
  if math.floor(flags / 2) % 2 == 0 then return length end
  return length + 2 + string.byte(value, length + 1) * 256 + string.byte(value, length + 2)
end
local function headLength(value)
  local length = originAt(value)
  if string.byte(value, 1) < 32 then return length end
  return length + 5 + 16 * string.byte(value, length + 5)
end
local function originIn(value)
  if string.byte(value, 1) < 32 then return '' end
  return string.sub(value, originAt(value) + 1, headLength(value))
end
`;

/**
 * The condition of a change, as three arguments: '1' if there must be an entry, '0' if there must be
 * none, otherwise empty; the versions of which the entry has one, without gaps, or '*' for any
 * state; the versions of which it has none.
 */
export const CONDITION = `
local function isIn(version, versions)
  for at = 1, #versions, 8 do
    if string.sub(versions, at, at + 7) == version then return true end
  end
  return false
end
local function isMet(version, presence, oneOf, noneOf)
  if presence ~= '' and (presence == '1') == (version == '') then return false end
  if oneOf ~= '*' and not isIn(version, oneOf) then return false end
  return not isIn(version, noneOf)
end
`;

/**
 * Sets an entry with a lifetime. Keys: hash, expiry times, maps. Arguments: field, value, expiry,
 * map. Returns 1 for a new field, otherwise 0.
 */
export const SET_WITH_END = script(
  `local made = redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[3], 'LT', ARGV[3], ARGV[4])
return made`,
  3,
  4,
);

/** The parts that a script has in addition in maps whose changes are marked (marked-scripts.ts). */
interface Marking {
  /** Before the change: it may return. */
  readonly before: string;
  /** Returns the reply to a change. */
  readonly end: (reply: string) => string;
}

const NOT_MARKED: Marking = { before: '', end: (reply) => `return ${reply}` };

/** Returns the source of SET_IF after its functions. `value` is what is set. */
export function setIf({ before, end }: Marking): string {
  return `
local stored, value = redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2]
local held = present(stored)
local version = held and string.sub(held, 2, 9) or ''
if not isMet(version, ARGV[4], ARGV[5], ARGV[6]) then return version end
${before}
local made = redis.call('HSET', KEYS[1], ARGV[1], value)
if ARGV[3] ~= '0' then
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[3], 'LT', ARGV[3], ARGV[7])
end
${end('made')}`;
}

/**
 * Sets an entry if it meets the condition. Keys: hash, expiry times, maps. Arguments: field, value,
 * expiry time or 0, condition, map. Returns 1 for a new field, 0 for an old one, or the version of
 * the current entry, or an empty string if there is none.
 */
export const SET_IF = script(`${SHARED}${CONDITION}${setIf(NOT_MARKED)}`, 3, 7);

/** Returns the source of ADD after its functions. `head` is the header of the sum. */
export function addition({ before, end }: Marking): string {
  return `
local function timeText(value)
  local text = ''
  for index = 5, 0, -1 do text = text .. string.char(math.floor(value / 256 ^ index) % 256) end
  return text
end
local function bytesIn(value, from, to)
  local sum = 0
  for index = from, to do sum = sum * 256 + string.byte(value, index) end
  return sum
end
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local held = present(stored)
local head, old, ends = ARGV[5], '0', tonumber(ARGV[6])
if held then
  local length = headLength(held)
  if #held - length > 20 then return 0 end
  local sign, digits = string.match(string.sub(held, length + 1), '^(%-?)(%d+)$')
  if not digits or #digits > 19 then return 0 end
  digits = string.match(digits, '^0*(%d+)$')
  old = (digits == '0' and '' or sign) .. digits
  ends = 0
  local life = ''
  if math.floor(string.byte(held, 1) / 8) % 2 == 1 then
    local last = bytesIn(held, 20, 25)
    ends = now() + bytesIn(held, 16, 19) * 1000
    if last > 0 then ends = math.min(ends, last) end
    life = timeText(ends)
  end
  local flags = string.char(16 + string.byte(held, 1) % 16)
  head = flags .. ARGV[3] .. life .. string.sub(held, 10 + #life, originAt(held))
end
redis.call('HSET', KEYS[4], 'sum', old)
local added = redis.pcall('HINCRBY', KEYS[4], 'sum', ARGV[2])
local sum = redis.call('HGET', KEYS[4], 'sum')
redis.call('UNLINK', KEYS[4])
if type(added) == 'table' then return 0 end
${before}
redis.call('HSET', KEYS[1], ARGV[1], head .. sum)
if ends > 0 then
  redis.call('ZADD', KEYS[2], ends, ARGV[1])
  redis.call('ZADD', KEYS[3], 'LT', ends, ARGV[4])
end
${end('sum')}`;
}

/**
 * Adds to the number that is an entry's value; Redis adds 64-bit integers exactly, its scripts do
 * not. Keys: hash, expiry times, maps, a hash for the sum. Arguments: field, number, version, map;
 * header of a new entry, and its expiry time or 0. Returns the sum as text, or 0 if there is none.
 */
export const ADD = script(`${SHARED}${HEAD_LENGTH}${addition(NOT_MARKED)}`, 4, 6);

/**
 * Removes an entry if it meets the condition. Keys: hash. Arguments: field, condition. Returns 1, or
 * what SET_IF returns otherwise.
 */
export const DELETE_IF = script(
  `${SHARED}${CONDITION}
local held = present(redis.call('HGET', KEYS[1], ARGV[1]))
local version = held and string.sub(held, 2, 9) or ''
if not isMet(version, ARGV[2], ARGV[3], ARGV[4]) then return version end
redis.call('HDEL', KEYS[1], ARGV[1])
return 1`,
  1,
  4,
);

/** Returns the source of SWEEP after its functions. `value` is the expired entry of `field`. */
export function sweeping({ before, end }: Marking): string {
  return `
local time = now()
local fields = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', time, 'LIMIT', 0, ARGV[1])
for _, field in ipairs(fields) do
  local value = redis.call('HGET', KEYS[1], field)
  local ends = value and endOf(value)
  if ends and ends > time then redis.call('ZADD', KEYS[2], ends, field)
  else
    if ends then
      ${before}
      redis.call('HDEL', KEYS[1], field)
    end
    redis.call('ZREM', KEYS[2], field)
  end
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] then redis.call('ZADD', KEYS[3], first[2], ARGV[2])
else redis.call('ZREM', KEYS[3], ARGV[2]) end
local left = redis.call('ZCOUNT', KEYS[2], '-inf', time)
${end('left')}`;
}

/**
 * Removes expired entries. Keys: hash, expiry times, maps. Arguments: the limit for the entries
 * checked, map. Returns the number of entries that are still to be checked.
 */
export const SWEEP = script(`#!lua flags=allow-oom${SHARED}${sweeping(NOT_MARKED)}`, 3, 2);

/**
 * Removes expiry times of deleted entries, one part of the set per call. Keys: hash, expiry times,
 * maps. Arguments: the cursor, 0 at first; the number of times to check; map. Returns the next
 * cursor, 0 at the end.
 */
export const PURGE = script(
  `#!lua flags=allow-oom
local cursor = 0
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('UNLINK', KEYS[2])
else
  local scanned = redis.call('ZSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
  cursor = tonumber(scanned[1])
  for at = 1, #scanned[2], 2 do
    local field = scanned[2][at]
    if redis.call('HEXISTS', KEYS[1], field) == 0 then redis.call('ZREM', KEYS[2], field) end
  end
end
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[3], ARGV[3]) end
return cursor`,
  3,
  3,
);

/**
 * Sets the expiry time of an entry after a read. Keys: hash, expiry times. Arguments: field,
 * version, expiry time as in the header, expiry time. Does nothing if the entry has been replaced
 * since.
 */
export const TOUCH = script(
  `#!lua flags=allow-oom
${SHARED}
local held = present(redis.call('HGET', KEYS[1], ARGV[1]))
if not held or string.sub(held, 2, 9) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], string.sub(held, 1, 9) .. ARGV[3] .. string.sub(held, 16))
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
return 1`,
  2,
  4,
);

export const MAP_SCRIPTS = [SET_WITH_END, SET_IF, ADD, DELETE_IF, SWEEP, PURGE, TOUCH].map(
  ({ source }) => source,
);
