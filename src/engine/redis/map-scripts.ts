/**
 * The scripts of maps. A value's header (stored-value.ts) has the version in bytes 2 to 9, counted from 1,
 * and where bit 2 of byte 1 is set the end of life in the next 6. The set of ends has each entry of the
 * hash that has a lifetime, by the time of its end in ms; it may also have fields that were deleted or
 * set anew since, so that each look at it reads the header. PURGE removes those of deleted entries. The
 * set of maps has each map of the partition that has a set of ends, by the first of these or an earlier
 * time.
 *
 * What removes entries, or only replaces bytes, may do so where the server has no memory left.
 */
import { script } from './scripts.ts';

/** Functions that the scripts share: the server's time in ms; the end of life that a value says. */
const SHARED = `
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

/** Puts an entry that has a lifetime. Keys: hash, ends, maps. Arguments: field, value, end, map. */
export const SET_WITH_END = script(
  `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[3], 'LT', ARGV[3], ARGV[4])
return 1`,
  3,
  4,
);

/**
 * Puts an entry where the present one has a version. Keys: hash, ends, maps. Arguments: field, value, end
 * or 0, version or nothing for no entry, map. Returns 1, or the version of the present entry, or nothing
 * for none.
 */
export const SET_IF = script(
  `${SHARED}
local held = present(redis.call('HGET', KEYS[1], ARGV[1]))
local version = held and string.sub(held, 2, 9) or ''
if version ~= ARGV[4] then return version end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] ~= '0' then
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[3], 'LT', ARGV[3], ARGV[5])
end
return 1`,
  3,
  5,
);

/** Removes an entry of that version. Keys: hash. Arguments: field, version. Returns as SET_IF. */
export const DELETE_IF = script(
  `${SHARED}
local held = present(redis.call('HGET', KEYS[1], ARGV[1]))
local version = held and string.sub(held, 2, 9) or ''
if version ~= ARGV[2] then return version end
redis.call('HDEL', KEYS[1], ARGV[1])
return 1`,
  1,
  2,
);

/**
 * Removes entries whose life has ended. Keys: hash, ends, maps. Arguments: the number looked at at most,
 * map. Returns how many more there are to be looked at.
 */
export const SWEEP = script(
  `#!lua flags=allow-oom
${SHARED}
local time = now()
local fields = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', time, 'LIMIT', 0, ARGV[1])
for _, field in ipairs(fields) do
  local value = redis.call('HGET', KEYS[1], field)
  local ends = value and endOf(value)
  if ends and ends > time then redis.call('ZADD', KEYS[2], ends, field)
  else
    if ends then redis.call('HDEL', KEYS[1], field) end
    redis.call('ZREM', KEYS[2], field)
  end
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] then redis.call('ZADD', KEYS[3], first[2], ARGV[2])
else redis.call('ZREM', KEYS[3], ARGV[2]) end
return redis.call('ZCOUNT', KEYS[2], '-inf', time)`,
  3,
  2,
);

/**
 * Removes the ends of entries that were deleted, one part of the set after the other. Keys: hash, ends, maps.
 * Arguments: the cursor, 0 at first; ends looked at; map. Returns the next cursor, 0 at the end.
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
 * Moves the end of an entry's life, as it was read. Keys: hash, ends. Arguments: field, version, end as
 * the header has it, end. Nothing is done where the entry is another one by now.
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

export const MAP_SCRIPTS = [SET_WITH_END, SET_IF, DELETE_IF, SWEEP, PURGE, TOUCH].map(
  ({ source }) => source,
);
