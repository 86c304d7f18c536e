<?php
// Ten calls with cURL. Run: php php-curl.php (Debian: apt-get install php-cli php-curl)
// GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
declare(strict_types=1);

$grid = getenv('GRIDNODE_URL') ?: 'http://127.0.0.1:5701/grid';
// A handle keeps its connection for the next call.
$curl = curl_init();

/** Sends a request; returns content type and content, or ends the program. */
function call(string $step, int $expected, string $method, string $path,
    ?string $value = null, string $type = 'application/octet-stream'): array
{
    global $curl, $grid;
    curl_reset($curl);
    curl_setopt_array($curl, [
        CURLOPT_URL => $grid . $path,
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_CONNECTTIMEOUT => 5,
        CURLOPT_TIMEOUT => 10, // longer than the longest poll
        // If a kept connection ends before the response, cURL sends the request again, which is
        // right for maps. A second offer adds the item twice, a second poll removes another item:
        // these get a new connection.
        CURLOPT_FRESH_CONNECT => str_starts_with($path, '/rest/queues/'),
    ]);
    if ($value !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, $value);
        curl_setopt($curl, CURLOPT_HTTPHEADER, ["Content-Type: $type"]);
    }
    $content = curl_exec($curl);
    if ($content === false) fail("$step: no response: " . curl_error($curl));
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    if ($status !== $expected) fail("$step: status $status, expected $expected: $content");
    return [curl_getinfo($curl, CURLINFO_CONTENT_TYPE) ?: '', $content];
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
