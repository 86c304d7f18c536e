/**
 * The scripts of the cluster's own store: one for each step of a MemberStore, which says what a step does.
 * All keys are in the slot of partition 0:
 *
 *     record   a hash: `revision`, `version`, `text`, `admits`; `begun` and `limitEnd` while a limit runs;
 *              `lastJoin`, `stopsUpTo`, `beaten`: the time of the last beat or join
 *     members  a hash: the members, by the number of their join, as JSON objects of strings; `ends`: the end
 *              of the lease
 *     left     a set: the addresses that left
 *     gone     a set: UUID:NUMBER of members that were removed or left, whose held items are to go back
 *
 * Times are in ms, by the server that runs the script. Numbers are decimal digits, as the server's JSON
 * rounds numbers. A step needs little memory, and the cluster is to live where there is none left, so all
 * are allowed then. The first argument is the channel of hints.
 */
import { BEAT_MS, GAP_MS } from '../../cluster/member-store.ts';
import { type Script, script } from './scripts.ts';

/** What stands first in a reply, where it is not why a member cannot join. */
export const VIEW = 'VIEW';
export const OUT = 'OUT';

const KEY_COUNT = 4;

const COMMON = `#!lua flags=allow-oom
local RECORD, MEMBERS, LEFT, GONE = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function digits(number) return string.format('%.0f', number) end
local function get(field) return redis.call('HGET', RECORD, field) or '' end
local function number(field) return tonumber(redis.call('HGET', RECORD, field) or 0) end
local function set(field, value) redis.call('HSET', RECORD, field, value) end
local function add(field, shift)
  if redis.call('HEXISTS', RECORD, field) == 1 then set(field, digits(number(field) + shift)) end
end
local function hint() redis.pcall('SPUBLISH', ARGV[1], '') end

local members = {}
for _, json in ipairs(redis.call('HVALS', MEMBERS)) do members[#members + 1] = cjson.decode(json) end
table.sort(members, function(a, b) return tonumber(a.number) < tonumber(b.number) end)
local function keep(member) redis.call('HSET', MEMBERS, member.number, cjson.encode(member)) end
local function find(uuid, joinNumber)
  for _, member in ipairs(members) do
    if member.uuid == uuid and member.number == joinNumber then return member end
  end
end

local function remove(isGone)
  local rest = {}
  for _, member in ipairs(members) do
    if isGone(member) then
      redis.call('HDEL', MEMBERS, member.number)
      redis.call('SADD', GONE, member.uuid .. ':' .. member.number)
      if number('admits') ~= 0 then redis.call('SADD', LEFT, member.address) end
    else
      rest[#rest + 1] = member
    end
  end
  local isAny = #rest < #members
  members = rest
  if isAny then hint() end
end

local function pass(caller)
  local gap = now - number('beaten')
  set('beaten', digits(now))
  local shift = gap > ${GAP_MS} and gap - ${BEAT_MS} or math.min(gap, 0)
  if shift ~= 0 then
    add('limitEnd', shift)
    for _, member in ipairs(members) do
      member.ends = digits(member.ends + shift)
      keep(member)
    end
  end
  remove(function(member) return member ~= caller and tonumber(member.ends) <= now end)
end

local function advance() set('revision', digits(math.max(number('revision') + 1, now))) end
local function endLimit() redis.call('HDEL', RECORD, 'begun', 'limitEnd') end

local function out() return {'${OUT}', number('stopsUpTo')} end

-- A nil in a table would end the reply.
local function view(hasText, first)
  local begun = number('begun')
  local reply = {
    '${VIEW}', first, now, number('revision'), get('version'), hasText and get('text'),
    begun, begun > 0 and number('limitEnd') - now or 0, number('stopsUpTo'), redis.call('SCARD', GONE),
  }
  for _, member in ipairs(members) do
    reply[#reply + 1] = member.uuid
    reply[#reply + 1] = tonumber(member.number)
    reply[#reply + 1] = member.address
    reply[#reply + 1] = member.memberVersion
    reply[#reply + 1] = member.isLite
    reply[#reply + 1] = tonumber(member.confirmed)
  end
  return reply
end
`;

/** `argumentCount`: of those behind the channel. */
function step(source: string, argumentCount: number): Script {
  return script(`${COMMON}${source}`, KEY_COUNT, 1 + argumentCount);
}

/**
 * Arguments: uuid, address, version of the member, '1' for a lite one or '', version of the cluster,
 * duration of the lease. Returns a view with the number of the join first; or the obstacle, the cluster's
 * version and `stopsUpTo`.
 */
export const JOIN = step(
  `
local _, uuid, address, memberVersion, isLite, version, leaseMs = unpack(ARGV)
local function findObstacle()
  for _, member in ipairs(members) do
    if tonumber(member.number) <= number('stopsUpTo') then return 'STOPPING' end
  end
  if #members == 0 then return end
  if version ~= get('version') then return 'VERSION' end
  for _, member in ipairs(members) do
    if member.address == address then return 'ADDRESS' end
  end
  if number('admits') ~= 0 and redis.call('SISMEMBER', LEFT, address) == 0 then return 'STATE' end
end
pass()
remove(function(member) return member.uuid == uuid end)
local obstacle = findObstacle()
if obstacle then return {obstacle, get('version'), number('stopsUpTo')} end
if #members == 0 then endLimit() end
if version ~= get('version') then
  advance()
  set('version', version)
end
redis.call('SREM', LEFT, address)
local joinNumber = redis.call('HINCRBY', RECORD, 'lastJoin', 1)
local member = {
  uuid = uuid, number = digits(joinNumber), address = address, memberVersion = memberVersion,
  isLite = isLite, confirmed = digits(number('revision')), ends = digits(now + leaseMs),
}
keep(member)
members[#members + 1] = member
hint()
return view(true, joinNumber)`,
  6,
);

/**
 * Arguments: uuid, number of the join, duration of the lease, revision that is known, the one that is
 * confirmed. Returns a view with the number of the join first, or OUT.
 */
export const BEAT = step(
  `
local _, uuid, joinNumber, leaseMs, known, confirmed = unpack(ARGV)
local member = find(uuid, joinNumber)
pass(member)
if not member then return out() end
member.ends = digits(now + leaseMs)
local isKnown = tonumber(known) == number('revision')
local isNew = isKnown and member.confirmed ~= confirmed
if isNew then member.confirmed = confirmed end
keep(member)
if isNew then hint() end
return view(not isKnown, tonumber(joinNumber))`,
  5,
);

/** Arguments: uuid, number of the join. */
export const LEAVE = step(
  `
local caller = find(ARGV[2], ARGV[3])
remove(function(member) return member == caller end)
return 0`,
  2,
);

/**
 * Arguments: uuid, number of the join, revision, text, admission, duration of the limit, or one of the
 * values below 1 that a RecordChange may have. Returns a view with 1 first where the change is made and
 * otherwise 0, or OUT.
 */
export const CHANGE = step(
  `
local _, uuid, joinNumber, revision, text, admits, limitMs = unpack(ARGV)
if not find(uuid, joinNumber) then return out() end
local isMade = tonumber(revision) == number('revision')
if isMade then
  advance()
  set('text', text)
  set('admits', admits)
  if admits == '0' then redis.call('UNLINK', LEFT) end
  local ms = tonumber(limitMs)
  if ms >= 0 then endLimit() end
  if ms > 0 then
    set('begun', get('revision'))
    set('limitEnd', digits(now + ms))
  end
  hint()
end
return view(not isMade, isMade and 1 or 0)`,
  6,
);

/** Arguments: uuid, number of the join. Returns a view with the number of the join first, or OUT. */
export const STOP_ALL = step(
  `
if not find(ARGV[2], ARGV[3]) then return out() end
set('stopsUpTo', digits(number('lastJoin')))
hint()
return view(false, tonumber(ARGV[3]))`,
  2,
);

export const MEMBER_SCRIPTS = [JOIN, BEAT, LEAVE, CHANGE, STOP_ALL].map(({ source }) => source);
