/**
 * The scripts of the membership store: one for each step of a MembershipStore, which documents the
 * steps. All state is one hash in the slot of partition 0, as a server from or to which the slot is
 * migrating refuses a script with several keys if it has only some of them. The fields:
 *
 *     revision, version, text, admits
 *     config            settings that all members have in common; none if they are ''
 *     begun, limitEnd   while a limit is in force
 *     lastJoin, stopsUpTo
 *     beaten            time of the last heartbeat or join of any member
 *     server            run id of the server that executed the last step
 *     layout            layout of the data: see layout-record.ts
 *     members           JSON: the members, in the order of their join numbers; `seen`: time of the
 *                       member's last heartbeat or join; `ends`: end of its lease
 *     replaced          JSON: members that were replaced, in the same form
 *     left              JSON: addresses of members that left
 *     gone              JSON: UUID:NUMBER of former members whose held items must be returned
 *
 * Times are in ms, by the server that runs the script. Numbers are stored as decimal digits, as the
 * server's JSON rounds numbers. A step needs little memory and the cluster must survive a lack of
 * it, so all steps are allowed when the server is out of memory; LEASE, which writes nothing, also
 * when it refuses changes. The first argument is the channel of hints.
 * Tested by redis-membership-store.spec.ts.
 */
import {
  FORMER_MAX,
  GAP_MS,
  HEARTBEAT_MS,
  PLACES,
  REPLACED_MS,
} from '../../cluster/membership-store.ts';
import { type Script, script } from './scripts.ts';

/** First element of a reply, unless it is the reason why a member cannot join. */
export const VIEW = 'VIEW';
export const OUT = 'OUT';
/** The data has another layout than the member that tries to join. */
export const LAYOUT = 'LAYOUT';

const COMMON = `
local RECORD = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function digits(number) return string.format('%.0f', number) end
local function get(field) return redis.call('HGET', RECORD, field) or '' end
local function number(field) return tonumber(redis.call('HGET', RECORD, field) or 0) end
local function set(field, value) redis.call('HSET', RECORD, field, value) end
local function list(field)
  local json = get(field)
  return json == '' and {} or cjson.decode(json)
end
local function setList(field, items)
  if #items == 0 then redis.call('HDEL', RECORD, field) else set(field, cjson.encode(items)) end
end
local function append(field, item)
  local items = list(field)
  items[#items + 1] = item
  setList(field, items)
end
local function hint() redis.pcall('SPUBLISH', ARGV[1], '') end

local members, replaced = list('members'), list('replaced')
local function save()
  setList('members', members)
  setList('replaced', replaced)
end
local function find(uuid, joinNumber)
  for _, member in ipairs(members) do
    if member.uuid == uuid and member.number == joinNumber then return member end
  end
end

local function split(all, isGone)
  local rest, gone = {}, {}
  for _, member in ipairs(all) do
    local part = isGone(member) and gone or rest
    part[#part + 1] = member
  end
  return rest, gone
end
local function leave(gone)
  for _, member in ipairs(gone) do
    if number('admits') ~= 0 then append('left', member.address) end
  end
  if #gone > 0 then hint() end
end
local function release(gone)
  for _, member in ipairs(gone) do append('gone', member.uuid .. ':' .. member.number) end
end
local function remove(isGone)
  local gone
  members, gone = split(members, isGone)
  leave(gone)
  release(gone)
end
local function replace(address)
  local gone
  members, gone = split(members, function(member)
    return member.address == address and now - member.seen >= ${REPLACED_MS}
  end)
  leave(gone)
  for _, member in ipairs(gone) do replaced[#replaced + 1] = member end
end
local function releaseReplaced(isGone)
  local gone
  replaced, gone = split(replaced, isGone)
  release(gone)
  if #gone > 0 then hint() end
end

local function shiftMs()
  local gap = now - number('beaten')
  return gap > ${GAP_MS} and gap - ${HEARTBEAT_MS} or math.min(gap, 0)
end
local function runId() return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') end
local function shiftedEnd(member, ms, isMoved)
  local ends = member.ends + ms
  return isMoved and math.max(ends, now + member.leaseMs) or ends
end
local function shift(all, ms, isMoved)
  for _, member in ipairs(all) do
    member.ends = digits(shiftedEnd(member, ms, isMoved))
    member.seen = digits(member.seen + math.min(ms, 0))
  end
end
local function pass(caller)
  local ms, server = shiftMs(), runId()
  set('beaten', digits(now))
  local isMoved = server ~= get('server')
  if isMoved then set('server', server) end
  if ms ~= 0 or isMoved then
    if get('begun') ~= '' then set('limitEnd', digits(number('limitEnd') + ms)) end
    shift(members, ms, isMoved)
    shift(replaced, ms, isMoved)
  end
  local function isOver(member) return member ~= caller and tonumber(member.ends) <= now end
  remove(isOver)
  releaseReplaced(isOver)
end

local function stop(upTo)
  if upTo <= number('stopsUpTo') then return end
  set('stopsUpTo', digits(upTo))
  if upTo > number('lastJoin') then set('lastJoin', digits(upTo)) end
  hint()
end
local function advance() set('revision', digits(math.max(number('revision') + 1, now))) end
local function endLimit() redis.call('HDEL', RECORD, 'begun', 'limitEnd') end

local function out() return {'${OUT}', number('stopsUpTo')} end

-- A nil in a table would end the reply.
local function view(hasText, first)
  local begun = number('begun')
  local reply = {
    '${VIEW}', first, now, number('revision'), get('version'), hasText and get('text'),
    begun, begun > 0 and number('limitEnd') - now or 0, number('stopsUpTo'), #list('gone'), #replaced,
  }
  for _, member in ipairs(members) do
    reply[#reply + 1] = member.uuid
    reply[#reply + 1] = tonumber(member.number)
    reply[#reply + 1] = member.address
    reply[#reply + 1] = member.memberVersion
    reply[#reply + 1] = member.isLite
    reply[#reply + 1] = tonumber(member.confirmed)
    reply[#reply + 1] = tonumber(member.applied or member.confirmed)
  end
  return reply
end
`;

/** Defines a step. `argumentCount`: the number of arguments after the channel. */
function step(source: string, argumentCount: number, flags = 'allow-oom'): Script {
  return script(`#!lua flags=${flags}${COMMON}${source}`, 1, 1 + argumentCount);
}

/**
 * Arguments: layout of the data, uuid, address, version of the member, '1' for a lite member or '',
 * version of the cluster, duration of the lease, settings. Returns the place, then a view with the
 * join number first; or the reason why the member cannot join: LAYOUT and the layout of the data, or
 * the obstacle, the cluster's version, `stopsUpTo`, and for CONFIG the cluster's settings.
 */
export const JOIN = step(
  `
local _, layout, uuid, address, memberVersion, isLite, version, leaseMs, config = unpack(ARGV)
if get('layout') == '' then set('layout', layout) end
if get('layout') ~= layout then return {'${LAYOUT}', get('layout')} end

local function isOwn(member) return member.uuid == uuid end
pass()
remove(isOwn)
releaseReplaced(isOwn)
replace(address)

local function freePlace()
  local isTaken = {}
  for _, member in ipairs(members) do isTaken[tonumber(member.place)] = true end
  for _, member in ipairs(replaced) do isTaken[tonumber(member.place)] = true end
  for step = 1, ${PLACES} do
    local place = (number('lastJoin') + step) % ${PLACES}
    if not isTaken[place] then return place end
  end
end
local function findObstacle(place)
  for _, member in ipairs(members) do
    if tonumber(member.number) <= number('stopsUpTo') then return 'STOPPING' end
  end
  if #members > 0 then
    if version ~= get('version') then return 'VERSION' end
    if config ~= get('config') then return 'CONFIG' end
    for _, member in ipairs(members) do
      if member.address == address then return 'ADDRESS' end
    end
    if number('admits') ~= 0 then
      local _, own = split(list('left'), function(each) return each == address end)
      if #own == 0 then return 'STATE' end
    end
  end
  if not place or #list('gone') >= ${FORMER_MAX} then return 'FULL' end
end
local place = freePlace()
local obstacle = findObstacle(place)
if obstacle then
  save()
  return {obstacle, get('version'), number('stopsUpTo'), obstacle == 'CONFIG' and get('config')}
end
if #members == 0 then endLimit() end
if version ~= get('version') then
  advance()
  set('version', version)
end
if config ~= get('config') then set('config', config) end
setList('left', (split(list('left'), function(each) return each == address end)))
local joinNumber = redis.call('HINCRBY', RECORD, 'lastJoin', 1)
members[#members + 1] = {
  uuid = uuid, number = digits(joinNumber), address = address, memberVersion = memberVersion,
  isLite = isLite, confirmed = digits(number('revision')), applied = digits(number('revision')),
  place = digits(place),
  seen = digits(now), ends = digits(now + leaseMs), leaseMs = leaseMs,
}
save()
hint()
local reply = view(true, joinNumber)
table.insert(reply, 2, place)
return reply`,
  8,
);

/**
 * Arguments: uuid, join number, `stopsUpTo`, duration of the lease, the revision that the member
 * has, the revisions that it has confirmed and applied. Returns a view with the join number first, or OUT.
 */
export const HEARTBEAT = step(
  `
local _, uuid, joinNumber, stopsUpTo, leaseMs, known, confirmed, applied = unpack(ARGV)
stop(tonumber(stopsUpTo))
local member = find(uuid, joinNumber)
pass(member)
if not member then
  save()
  return out()
end
member.seen = digits(now)
member.ends = digits(now + leaseMs)
member.leaseMs = leaseMs
local isKnown = tonumber(known) == number('revision')
local isNew = isKnown and (member.confirmed ~= confirmed or member.applied ~= applied)
if isNew then member.confirmed, member.applied = confirmed, applied end
save()
if isNew then hint() end
return view(not isKnown, tonumber(joinNumber))`,
  7,
);

/**
 * Arguments: uuid, join number, the revision that the member has. Returns a view with the remaining
 * time of the lease first, as the next heartbeat of another member would find it; or OUT.
 */
export const LEASE = step(
  `
local member = find(ARGV[2], ARGV[3])
if not member then return out() end
local ends = shiftedEnd(member, shiftMs(), runId() ~= get('server'))
return view(tonumber(ARGV[4]) ~= number('revision'), math.floor(ends - now))`,
  3,
  'no-writes',
);

/** Arguments: uuid, join number, `stopsUpTo`. */
export const LEAVE = step(
  `
stop(tonumber(ARGV[4]))
local caller = find(ARGV[2], ARGV[3])
remove(function(member) return member == caller end)
save()
return 0`,
  3,
);

/**
 * Arguments: uuid, join number, revision, text, admission, duration of the limit, or one of the
 * values below 1 that a RecordChange may have. Returns a view with 1 first if the change was made
 * and otherwise 0, or OUT.
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
  if admits == '0' then redis.call('HDEL', RECORD, 'left') end
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

/** Arguments: uuid, join number. Returns a view with the join number first, or OUT. */
export const STOP_ALL = step(
  `
if not find(ARGV[2], ARGV[3]) then return out() end
stop(number('lastJoin'))
return view(false, tonumber(ARGV[3]))`,
  2,
);

/** Argument: UUID:NUMBER of a former member whose items have been returned. */
export const FORGET = step(
  `
setList('gone', (split(list('gone'), function(each) return each == ARGV[2] end)))
return 0`,
  1,
);

export const MEMBER_SCRIPTS = [JOIN, HEARTBEAT, LEASE, LEAVE, CHANGE, STOP_ALL, FORGET].map(
  ({ source }) => source,
);
