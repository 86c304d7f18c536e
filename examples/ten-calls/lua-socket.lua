#!/usr/bin/env lua
-- Ten calls with LuaSocket. Run: lua lua-socket.lua (Debian: apt-get install lua5.4 lua-socket)
-- GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
local http = require 'socket.http'
local ltn12 = require 'ltn12'

local grid = os.getenv 'GRIDNODE_URL' or 'http://127.0.0.1:5701/grid'
http.TIMEOUT = 10 -- seconds; longer than the longest poll

local function fail(message)
  io.stderr:write(message, '\n')
  os.exit(1)
end

-- Sends a request; returns content type and content, or ends the program. LuaSocket opens a
-- connection for each request and sends no request twice. Do not add a retry for queues: a second
-- offer adds the item twice, a second poll removes another item.
local function call(step, expected, method, path, value, kind)
  local pieces = {}
  local request = { url = grid .. path, method = method, sink = ltn12.sink.table(pieces) }
  if value then
    request.headers = { ['content-type'] = kind, ['content-length'] = #value }
    request.source = ltn12.source.string(value)
  end
  local done, status, headers = http.request(request)
  if not done then fail(step .. ': no response: ' .. status) end
  local content = table.concat(pieces)
  if status ~= expected then
    fail(('%s: status %d, expected %d: %s'):format(step, status, expected, content))
  end
  return headers['content-type'] or '', content
end

local function encode(key)
  return (key:gsub('[^%w_.~-]', function(byte) return ('%%%02X'):format(byte:byte()) end))
end

local function hex(bytes)
  return (bytes:gsub('.', function(byte) return ('%02x'):format(byte:byte()) end))
end

local entry = '/rest/maps/example-people/' .. encode 'Zoë/1'
local queue = '/rest/queues/example-jobs'

call('put', 200, 'POST', entry, '{"name":"Zoë"}', 'application/json')
print 'put: 200'
local kind, content = call('get', 200, 'GET', entry)
print(('get: 200, %s, %s'):format(kind, content))
call('get missing', 204, 'GET', '/rest/maps/example-people/nobody')
print 'get missing: 204'
call('delete', 200, 'DELETE', entry)
print 'delete: 200'
call('clear', 200, 'DELETE', '/rest/maps/example-people')
print 'clear: 200'

-- A 503 without content means that the queue is full.
call('offer', 200, 'POST', queue, '\0\xff\n\x80', 'application/octet-stream')
print 'offer: 200'
_, content = call('size', 200, 'GET', queue .. '/size')
print('size: ' .. content)
-- A poll waits up to the given number of seconds.
kind, content = call('poll', 200, 'DELETE', queue .. '/1')
print(('poll: 200, %s, %s'):format(kind, hex(content)))
call('poll empty', 204, 'DELETE', queue .. '/1')
print 'poll empty: 204'
call('ready', 200, 'GET', '/health/ready')
print 'ready: 200'
