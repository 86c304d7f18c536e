<?php
// Ten calls with fsockopen, for PHP without the cURL extension. Run: php php-fsockopen.php
// GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
declare(strict_types=1);

const TIMEOUT_SECONDS = 10; // longer than the longest poll

$grid = parse_url(getenv('GRIDNODE_URL') ?: 'http://127.0.0.1:5701/grid');
$port = $grid['port'] ?? 80;
// One connection for all calls. Do not send an offer or a poll again if the connection ends: a
// second offer adds the item twice, a second poll removes another item.
$socket = @fsockopen($grid['host'], $port, $code, $error, 5);
if ($socket === false) fail("connect: no response: $error");
stream_set_timeout($socket, TIMEOUT_SECONDS);

/** Sends a request; returns content type and content, or ends the program. */
function call(string $step, int $expected, string $method, string $path,
    ?string $value = null, string $type = 'application/octet-stream'): array
{
    global $socket, $grid, $port;
    $request = "$method {$grid['path']}$path HTTP/1.1\r\nHost: {$grid['host']}:$port\r\n";
    if ($value !== null)
        $request .= "Content-Type: $type\r\nContent-Length: " . strlen($value) . "\r\n";
    $request .= "\r\n$value";
    while ($request !== '') {
        // fwrite can write a part.
        $written = @fwrite($socket, $request);
        if (!$written) fail("$step: no response: the connection is closed");
        $request = substr($request, $written);
    }
    $status = (int) explode(' ', line($step), 3)[1];
    $fields = [];
    while (($line = line($step)) !== '') {
        [$name, $text] = explode(':', $line, 2);
        $fields[strtolower($name)] = trim($text);
    }
    // A 204 has no Content-Length and no content.
    $length = (int) ($fields['content-length'] ?? 0);
    $content = $length === 0 ? '' : stream_get_contents($socket, $length);
    if (strlen($content) !== $length) fail("$step: no response: the connection is closed");
    if ($status !== $expected) fail("$step: status $status, expected $expected: $content");
    return [$fields['content-type'] ?? '', $content];
}

/** Reads a line of the header. */
function line(string $step): string
{
    global $socket;
    $line = fgets($socket);
    if ($line === false || !str_ends_with($line, "\r\n"))
        fail("$step: no response: the connection is closed, or the time is over");
    return substr($line, 0, -2);
}

function fail(string $message): never
{
    fwrite(STDERR, "$message\n");
    exit(1);
}

$entry = '/rest/maps/example-people/' . rawurlencode('Zoë/1');
$queue = '/rest/queues/example-jobs';

call('put', 200, 'POST', $entry, '{"name":"Zoë"}', 'application/json');
echo "put: 200\n";
[$type, $content] = call('get', 200, 'GET', $entry);
echo "get: 200, $type, $content\n";
call('get missing', 204, 'GET', '/rest/maps/example-people/nobody');
echo "get missing: 204\n";
call('delete', 200, 'DELETE', $entry);
echo "delete: 200\n";
call('clear', 200, 'DELETE', '/rest/maps/example-people');
echo "clear: 200\n";

// A 503 without content means that the queue is full.
call('offer', 200, 'POST', $queue, "\x00\xff\n\x80");
echo "offer: 200\n";
[, $content] = call('size', 200, 'GET', "$queue/size");
echo "size: $content\n";
// A poll waits up to the given number of seconds.
[$type, $content] = call('poll', 200, 'DELETE', "$queue/1");
echo "poll: 200, $type, " . bin2hex($content) . "\n";
call('poll empty', 204, 'DELETE', "$queue/1");
echo "poll empty: 204\n";
call('ready', 200, 'GET', '/health/ready');
echo "ready: 200\n";
