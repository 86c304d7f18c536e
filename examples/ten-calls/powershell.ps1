#!/usr/bin/env pwsh
# Ten calls with Invoke-WebRequest of PowerShell 7. Run: pwsh powershell.ps1
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$grid = 'http://127.0.0.1:5701/grid'
if ($env:GRIDNODE_URL) { $grid = $env:GRIDNODE_URL }

# Sends a request; returns content type and content, or ends the program. The time limit, 10 s, is
# longer than the longest poll. If the connection ends before the response, only a GET is sent
# again. No -MaximumRetryCount: a second offer adds the item twice, a second poll removes another
# item.
function Invoke-Call {
    param(
        [string] $Step, [int] $Expected, [string] $Method, [string] $Path,
        [byte[]] $Value, [string] $Type
    )
    $request = @{
        Uri = "$grid$Path"; Method = $Method; TimeoutSec = 10
        SkipHttpErrorCheck = $true; MaximumRedirection = 0
    }
    if ($null -ne $Value) { $request += @{ Body = $Value; ContentType = $Type } }
    try {
        $response = Invoke-WebRequest @request
    } catch {
        Exit-WithMessage "${Step}: no response: $($_.Exception.Message)"
    }
    # The property Content is a text for some types; the stream has the bytes.
    $content = $response.RawContentStream.ToArray()
    if ($response.StatusCode -ne $Expected) {
        $message = [Text.Encoding]::UTF8.GetString($content)
        Exit-WithMessage "${Step}: status $($response.StatusCode), expected ${Expected}: $message"
    }
    @{ Type = [string] $response.Headers['Content-Type']; Content = $content }
}

function Exit-WithMessage {
    param([string] $Message)
    [Console]::Error.WriteLine($Message)
    exit 1
}

[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)
$entry = '/rest/maps/example-people/' + [Uri]::EscapeDataString("Zo`u{eb}/1")
$queue = '/rest/queues/example-jobs'

$value = [Text.Encoding]::UTF8.GetBytes("{`"name`":`"Zo`u{eb}`"}")
$null = Invoke-Call 'put' 200 POST $entry $value 'application/json'
'put: 200'
$response = Invoke-Call 'get' 200 GET $entry
"get: 200, $($response.Type), $([Text.Encoding]::UTF8.GetString($response.Content))"
$null = Invoke-Call 'get missing' 204 GET '/rest/maps/example-people/nobody'
'get missing: 204'
$null = Invoke-Call 'delete' 200 DELETE $entry
'delete: 200'
$null = Invoke-Call 'clear' 200 DELETE '/rest/maps/example-people'
'clear: 200'

# A 503 without content means that the queue is full.
$item = [byte[]] (0x00, 0xff, 0x0a, 0x80)
$null = Invoke-Call 'offer' 200 POST $queue $item 'application/octet-stream'
'offer: 200'
$response = Invoke-Call 'size' 200 GET "$queue/size"
"size: $([Text.Encoding]::ASCII.GetString($response.Content))"
# A poll waits up to the given number of seconds.
$response = Invoke-Call 'poll' 200 DELETE "$queue/1"
"poll: 200, $($response.Type), $([Convert]::ToHexString($response.Content).ToLowerInvariant())"
$null = Invoke-Call 'poll empty' 204 DELETE "$queue/1"
'poll empty: 204'
$null = Invoke-Call 'ready' 200 GET '/health/ready'
'ready: 200'
